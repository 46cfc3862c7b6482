// Connects Java clients, each with its own file of properties, and tells how each fares.
//
// Arguments: files. Output: a line for each, with the file's name, a tab, and "ok" or the classes of
// the exceptions, the outermost first, with the text of a failed login.

import java.io.FileReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import javax.security.auth.callback.Callback;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerTokenCallback;

public class Refusals {
    /** Gives a token to the client without checking it. */
    public static class Tokens implements AuthenticateCallbackHandler {
        private String text;

        @Override
        public void configure(Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> lines) {
            text = (String) lines.get(0).getOptions().get("token");
        }

        @Override
        public void handle(Callback[] callbacks) {
            for (Callback callback : callbacks) {
                if (callback instanceof OAuthBearerTokenCallback) {
                    ((OAuthBearerTokenCallback) callback).token(new Token(text));
                }
            }
        }

        @Override
        public void close() {}
    }

    record Token(String value) implements OAuthBearerToken {
        @Override
        public Set<String> scope() {
            return Set.of();
        }

        @Override
        public long lifetimeMs() {
            return System.currentTimeMillis() + 3_600_000;
        }

        @Override
        public String principalName() {
            return "alice";
        }

        @Override
        public Long startTimeMs() {
            return null;
        }
    }

    static String outcome(String file) {
        // Kafka looks for Tokens there, which this program was compiled with.
        Thread.currentThread().setContextClassLoader(Refusals.class.getClassLoader());
        Properties properties = new Properties();
        try (FileReader reader = new FileReader(file)) {
            properties.load(reader);
        } catch (java.io.IOException failed) {
            return failed.toString();
        }
        try (Admin admin = Admin.create(properties)) {
            admin.describeCluster().nodes().get();
            return "ok";
        } catch (ExecutionException failed) {
            return told(failed.getCause());
        } catch (Exception failed) {
            return told(failed);
        }
    }

    static String told(Throwable failed) {
        List<String> names = new ArrayList<>();
        String text = "";
        for (Throwable each = failed; each != null; each = each.getCause()) {
            String name = each.getClass().getSimpleName();
            if (names.isEmpty() || !names.get(names.size() - 1).equals(name)) {
                names.add(name);
            }
            if (each instanceof SaslAuthenticationException) {
                text = ": " + each.getMessage();
            }
        }
        return String.join(" < ", names) + text;
    }

    public static void main(String[] files) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(16);
        List<Future<String>> outcomes = new ArrayList<>();
        for (String file : files) {
            outcomes.add(threads.submit(() -> outcome(file)));
        }
        for (int at = 0; at < files.length; at++) {
            System.out.println(Path.of(files[at]).getFileName() + "\t" + outcomes.get(at).get());
        }
        threads.shutdown();
        System.exit(0);
    }
}
