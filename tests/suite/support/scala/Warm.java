import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Timer;
import java.util.TimerTask;
import javax.tools.ToolProvider;
import org.junit.runner.JUnitCore;
import org.junit.runner.Result;

/**
 * Compiles and runs what the tests ask for, one after the other, until its input ends. Each line of the input names a file with one
 * request: {@code scalac} or {@code javac} and arguments; {@code main}, folders of classes with colons between them, a main class and
 * arguments; or {@code junit}, folders and suites. The answer is a line with whether it went well, and with the number of bytes that
 * follow: what was printed, which is also what was printed to standard error if it did not go well.
 */
public final class Warm {
    /** How long a request may take, in milliseconds: for those that hang, not for slow ones. */
    private static final long PATIENCE = 1_800_000;

    /** A small one, so that a recursion whose depth depends on the program does not go unnoticed. */
    private static final long STACK = 512 << 10;

    public static void main(String[] compiler) throws Exception {
        PrintStream answers = System.out;
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.setIn(InputStream.nullInputStream());
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(errors, true, StandardCharsets.UTF_8));
        Timer timer = new Timer(true);
        for (String file = requests.readLine(); file != null; file = requests.readLine()) {
            List<String> request = Files.readAllLines(Path.of(file));
            TimerTask hangs = new TimerTask() {
                @Override
                public void run() {
                    Runtime.getRuntime().halt(1);
                }
            };
            timer.schedule(hangs, PATIENCE);
            printed.reset();
            errors.reset();
            boolean isWell = false;
            try {
                isWell = answer(compiler[0], request);
            } catch (Throwable thrown) {
                thrown.printStackTrace();
            }
            hangs.cancel();
            byte[] said = printed.toByteArray();
            byte[] more = isWell ? new byte[0] : errors.toByteArray();
            answers.println(isWell + " " + (said.length + more.length));
            answers.write(said);
            answers.write(more);
            answers.flush();
        }
        System.exit(0);
    }

    private static boolean answer(String compiler, List<String> request) throws Throwable {
        List<String> rest = request.subList(1, request.size());
        String[] all = rest.toArray(new String[0]);
        switch (request.get(0)) {
            case "scalac":
                Object found = Class.forName(compiler).getMethod("process", String[].class).invoke(null, (Object) all);
                // One version returns whether it went well, the other what was reported.
                return found instanceof Boolean isWell
                        ? isWell
                        : !(Boolean) found.getClass().getMethod("hasErrors").invoke(found);
            case "javac":
                return ToolProvider.getSystemJavaCompiler().run(null, null, null, all) == 0;
            default:
                return run(request.get(0), all);
        }
    }

    /** Runs with classes of its own, so that programs share no state. */
    private static boolean run(String kind, String[] all) throws Throwable {
        URL[] folders = new URL[all[0].split(":").length];
        int count = 0;
        for (String folder : all[0].split(":")) {
            folders[count++] = Path.of(folder).toUri().toURL();
        }
        ClassLoader loader = new URLClassLoader(folders, Warm.class.getClassLoader());
        Throwable[] failure = new Throwable[1];
        Runnable task = () -> {
            try {
                if (kind.equals("junit")) {
                    test(loader, Arrays.asList(all).subList(1, all.length));
                } else {
                    Method main = loader.loadClass(all[1]).getMethod("main", String[].class);
                    main.invoke(null, (Object) Arrays.copyOfRange(all, 2, all.length));
                }
            } catch (InvocationTargetException failed) {
                failure[0] = failed.getCause();
            } catch (Throwable failed) {
                failure[0] = failed;
            }
        };
        Thread thread = new Thread(null, task, "main", STACK);
        thread.setContextClassLoader(loader);
        thread.start();
        thread.join();
        if (failure[0] != null) {
            throw failure[0];
        }
        return true;
    }

    private static void test(ClassLoader loader, List<String> suites) throws ClassNotFoundException {
        Class<?>[] classes = new Class<?>[suites.size()];
        for (int i = 0; i < classes.length; i++) {
            classes[i] = loader.loadClass(suites.get(i));
        }
        Result result = JUnitCore.runClasses(classes);
        result.getFailures().forEach(failure -> System.err.println(failure.getTestHeader() + "\n" + failure.getTrace()));
        if (!result.wasSuccessful()) {
            throw new AssertionError(result.getFailureCount() + " tests failed");
        }
    }
}
