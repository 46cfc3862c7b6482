// The life of a delegation token with a Java client: it is created, described, renewed, used for
// logins by SCRAM, and expired. Each line of the output says how a step fares.
//
// Arguments: the address of a listener with SASL_PLAINTEXT, and the password of alice.

import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.CreateDelegationTokenOptions;
import org.apache.kafka.clients.admin.ExpireDelegationTokenOptions;
import org.apache.kafka.clients.admin.RenewDelegationTokenOptions;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.token.delegation.DelegationToken;

public class DelegationTokens {
    static final String PACKAGE = "org.apache.kafka.common.security.";
    static String address;

    static Admin admin(String mechanism, String module, String name, String password, String more) {
        String line = PACKAGE + module + " required username=\"" + name + "\" password=\"" + password + "\"";
        return Admin.create(
            Map.of(
                "bootstrap.servers", address,
                "security.protocol", "SASL_PLAINTEXT",
                "request.timeout.ms", "20000",
                "default.api.timeout.ms", "20000",
                "sasl.mechanism", mechanism,
                "sasl.jaas.config", line + more + ";"));
    }

    static void tell(String step, Callable<Object> work) throws Exception {
        String outcome;
        try {
            outcome = String.valueOf(work.call());
        } catch (ExecutionException failed) {
            outcome = failed.getCause().getClass().getSimpleName() + ": " + failed.getCause().getMessage();
        }
        System.out.println("token: " + step + ": " + outcome);
    }

    static void logIn(String mechanism, DelegationToken token, String password) throws Exception {
        String id = token.tokenInfo().tokenId();
        String more = " tokenauth=\"true\"";
        try (Admin admin = admin(mechanism, "scram.ScramLoginModule", id, password, more)) {
            tell("login by " + mechanism, () -> admin.describeCluster().nodes().get().size());
            tell("another token", () -> admin.createDelegationToken().delegationToken().get());
            tell("its description", () -> admin.describeDelegationToken().delegationTokens().get());
        }
    }

    public static void main(String[] arguments) throws Exception {
        address = arguments[0];
        try (Admin alice = admin("PLAIN", "plain.PlainLoginModule", "alice", arguments[1], "");
                Admin bob = admin("PLAIN", "plain.PlainLoginModule", "bob", "hidden", "")) {
            CreateDelegationTokenOptions options = new CreateDelegationTokenOptions()
                .renewers(List.of(new KafkaPrincipal("User", "bob"))).maxLifetimeMs(3_600_000);
            DelegationToken token = alice.createDelegationToken(options).delegationToken().get();
            tell("owner", () -> token.tokenInfo().owner() + " " + token.tokenInfo().renewers());
            tell("size", () -> token.hmac().length);
            while (alice.describeDelegationToken().delegationTokens().get().isEmpty()) {
                Thread.sleep(20); // the broker answers before it knows its own token
            }
            tell("described", () -> alice.describeDelegationToken().delegationTokens().get().equals(List.of(token)));
            tell("described to bob", () -> bob.describeDelegationToken().delegationTokens().get().size());
            logIn("SCRAM-SHA-256", token, token.hmacAsBase64String());
            logIn("SCRAM-SHA-512", token, token.hmacAsBase64String());
            logIn("SCRAM-SHA-256", token, "d3Jvbmc=");
            RenewDelegationTokenOptions period = new RenewDelegationTokenOptions().renewTimePeriodMs(60_000);
            tell("renewed by bob", () -> bob.renewDelegationToken(token.hmac(), period).expiryTimestamp().get()
                < token.tokenInfo().maxTimestamp());
            tell("unknown", () -> bob.renewDelegationToken(new byte[9]).expiryTimestamp().get());
            tell("unknown, expired", () -> bob.expireDelegationToken(new byte[9]).expiryTimestamp().get());
            ExpireDelegationTokenOptions now = new ExpireDelegationTokenOptions().expiryTimePeriodMs(-1);
            tell("expired", () -> alice.expireDelegationToken(token.hmac(), now).expiryTimestamp().get() > 0);
            while (!alice.describeDelegationToken().delegationTokens().get().isEmpty()) {
                Thread.sleep(20);
            }
            tell("renewed too late", () -> alice.renewDelegationToken(token.hmac()).expiryTimestamp().get());
            logIn("SCRAM-SHA-256", token, token.hmacAsBase64String());
        }
        System.exit(0);
    }
}
