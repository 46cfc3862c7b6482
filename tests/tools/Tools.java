// Runs Kafka's command line tools one after the other in one JVM: a start of each costs a second.
//
// Standard input: for each run the count of arguments, the class and its arguments, and what the
// tool reads; standard output: its exit code, and what it wrote to its output and its errors.
// Numbers are of four bytes, texts are UTF-8 with their length in front.

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.kafka.common.utils.internals.Exit;

public class Tools {
    /** Thrown where a tool would end the JVM. */
    static class Ended extends RuntimeException {
        final int code;

        Ended(int code) {
            super("exit " + code, null, false, false);
            this.code = code;
        }
    }

    /** Where whatever a tool writes goes now: who keeps a stream keeps this one. */
    static class Switch extends OutputStream {
        volatile OutputStream target = OutputStream.nullOutputStream();

        @Override
        public void write(int b) throws IOException {
            target.write(b);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            target.write(bytes, offset, length);
        }
    }

    static final int LIMIT_MS = 20_000;
    static final int LATE = -2;
    static final Switch out = new Switch();
    static final Switch err = new Switch();
    static final List<Runnable> hooks = new CopyOnWriteArrayList<>();
    static volatile Integer exit;

    /** What a tool says after its end is of being ended so. */
    static void end(int code) {
        if (exit == null) {
            exit = code;
            mute();
        }
        throw new Ended(code);
    }

    static void mute() {
        out.target = OutputStream.nullOutputStream();
        err.target = OutputStream.nullOutputStream();
    }

    public static void main(String[] arguments) throws Exception {
        DataInputStream requests = new DataInputStream(new FileInputStream(FileDescriptor.in));
        DataOutputStream answers = new DataOutputStream(new FileOutputStream(FileDescriptor.out));
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        Exit.setExitProcedure((code, message) -> end(code));
        Exit.setHaltProcedure((code, message) -> end(code));
        Exit.setShutdownHookAdder((name, hook) -> hooks.add(hook));
        while (true) {
            int count;
            try {
                count = requests.readInt();
            } catch (EOFException closed) {
                return;
            }
            String[] words = new String[count];
            for (int i = 0; i < count; i++) {
                words[i] = new String(bytes(requests), StandardCharsets.UTF_8);
            }
            InputStream input = new ByteArrayInputStream(bytes(requests));
            ByteArrayOutputStream output = new ByteArrayOutputStream();
            ByteArrayOutputStream errors = new ByteArrayOutputStream();
            out.target = output;
            err.target = errors;
            int code = run(words, input);
            mute();
            answers.writeInt(code);
            for (ByteArrayOutputStream written : new ByteArrayOutputStream[] {output, errors}) {
                byte[] text = written.toByteArray();
                answers.writeInt(text.length);
                answers.write(text);
            }
            answers.flush();
        }
    }

    static byte[] bytes(DataInputStream from) throws IOException {
        byte[] read = new byte[from.readInt()];
        from.readFully(read);
        return read;
    }

    /** Its exit code; what does not end in time is left alone, and has its stack as its errors. */
    static int run(String[] words, InputStream input) throws InterruptedException {
        exit = null;
        System.setIn(input);
        int[] code = {LATE};
        Thread thread = new Thread(() -> code[0] = invoke(words));
        thread.setDaemon(true);
        thread.start();
        thread.join(LIMIT_MS);
        if (thread.isAlive()) {
            for (StackTraceElement place : thread.getStackTrace()) {
                System.err.println(place);
            }
            thread.interrupt();
        }
        return code[0];
    }

    /** A tool, and what it would do at the end of its JVM: some send what they have only then. */
    static int invoke(String[] words) {
        hooks.clear();
        Set<Thread> before = hooksOfJvm();
        int code = call(words);
        hooks.forEach(Runnable::run);
        for (Thread hook : hooksOfJvm()) {
            if (!before.contains(hook)) {
                Runtime.getRuntime().removeShutdownHook(hook);
                hook.run();
            }
        }
        return code;
    }

    /** The threads that run at the end of this JVM; it needs `--add-opens java.base/java.lang`. */
    @SuppressWarnings("unchecked")
    static Set<Thread> hooksOfJvm() {
        try {
            Field hooks = Class.forName("java.lang.ApplicationShutdownHooks").getDeclaredField("hooks");
            hooks.setAccessible(true);
            return Set.copyOf(((Map<Thread, Thread>) hooks.get(null)).keySet());
        } catch (ReflectiveOperationException missing) {
            throw new IllegalStateException(missing);
        }
    }

    static int call(String[] words) {
        String[] arguments = new String[words.length - 1];
        System.arraycopy(words, 1, arguments, 0, arguments.length);
        try {
            Method main = Class.forName(words[0]).getMethod("main", String[].class);
            main.invoke(null, (Object) arguments);
        } catch (InvocationTargetException thrown) {
            if (!(thrown.getCause() instanceof Ended)) {
                thrown.getCause().printStackTrace();
                return exit != null ? exit : 1;
            }
        } catch (ReflectiveOperationException missing) {
            missing.printStackTrace();
            return -1;
        }
        return exit != null ? exit : 0;
    }
}
