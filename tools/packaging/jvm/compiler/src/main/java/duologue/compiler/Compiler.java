package duologue.compiler;

import com.dylibso.chicory.runtime.HostFunction;
import com.dylibso.chicory.runtime.ImportValues;
import com.dylibso.chicory.runtime.Instance;
import com.dylibso.chicory.wasi.WasiExitException;
import com.dylibso.chicory.wasi.WasiOptions;
import com.dylibso.chicory.wasi.WasiPreview1;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** The command line of Duologue on the Java virtual machine, without native code. */
public final class Compiler {

    /** The compiler recurses as deeply as types nest. The native program has a stack of 8 MiB; frames are larger here. */
    private static final long STACK = 256L << 20;

    private Compiler() {}

    /**
     * Runs a command of `duologue` and returns its exit code.
     *
     * @param arguments what follows the name of the program
     * @param directory the working directory
     * @param output where standard output goes
     * @param errors where standard error goes
     */
    public static int run(List<String> arguments, Path directory, OutputStream output, OutputStream errors) {
        return run(arguments, directory, Map.of(), InputStream.nullInputStream(), output, errors);
    }

    /** Runs the command line of this process. */
    public static void main(String[] arguments) {
        PrintStream output = System.out;
        PrintStream errors = System.err;
        Path here = Path.of("").toAbsolutePath();
        int code = run(Arrays.asList(arguments), here, System.getenv(), System.in, output, errors);
        output.flush();
        errors.flush();
        System.exit(code);
    }

    private static int run(
            List<String> arguments,
            Path directory,
            Map<String, String> environment,
            InputStream input,
            OutputStream output,
            OutputStream errors) {
        Path here = directory.toAbsolutePath().normalize();
        Path root = here.getRoot();
        List<String> words = new ArrayList<>();
        words.add("duologue");
        words.addAll(arguments);
        // Java 17 cannot say which stream is a terminal: colors need `--color always`.
        WasiOptions.Builder options = WasiOptions.builder()
                .withArguments(words)
                .withStdin(input, false)
                .withStdout(output, false)
                .withStderr(errors, false)
                .withDirectory("/", root);
        environment.forEach(options::withEnvironment);
        // The module sees one file system, whose root is that of the working directory: on Windows, its drive.
        options.withEnvironment("PWD", "/" + root.relativize(here).toString().replace('\\', '/'));
        int[] code = {101};
        Thread thread = new Thread(null, () -> code[0] = start(options.build(), root, errors), "duologue", STACK);
        thread.start();
        boolean interrupted = false;
        while (true) {
            try {
                thread.join();
                break;
            } catch (InterruptedException interruption) {
                // The command ends by itself, after seconds at most, and may be writing files.
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return code[0];
    }

    private static int start(WasiOptions options, Path root, OutputStream errors) {
        try (WasiPreview1 wasi = WasiPreview1.builder().withOptions(options).build()) {
            HostFunction[] functions = wasi.toHostFunctions();
            for (int at = 0; at < functions.length; at++) {
                functions[at] = Paths.replaced(functions[at], root);
            }
            Instance.builder(CompilerModule.load())
                    .withMachineFactory(CompilerModule::create)
                    .withImportValues(ImportValues.builder().addFunction(functions).build())
                    .build();
            return 0;
        } catch (WasiExitException exit) {
            return exit.exitCode();
        } catch (RuntimeException | StackOverflowError error) {
            // The module has printed why it stopped.
            try {
                errors.write(("error: the compiler failed: " + error + "\n").getBytes(StandardCharsets.UTF_8));
            } catch (IOException unprintable) {
                // The exit code reports it.
            }
            return 101;
        }
    }
}
