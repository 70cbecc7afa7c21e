package duologue.compiler;

import com.dylibso.chicory.runtime.HostFunction;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotLinkException;
import java.nio.file.Path;

/** Reads symbolic links. Chicory's own function returns only the last name of the path that a link contains. */
final class Links {

    private static final int SUCCESS = 0;
    private static final int INVALID = 28;
    private static final int INPUT_OUTPUT = 29;
    private static final int MISSING = 44;

    private Links() {}

    /** A function with the same type. The module has only one directory, the root, so every path is relative to it. */
    static HostFunction function(HostFunction own, Path root) {
        return new HostFunction(own.module(), own.name(), own.functionType(), (instance, arguments) -> {
            String path = instance.memory().readString((int) arguments[1], (int) arguments[2]);
            byte[] text;
            try {
                text = Files.readSymbolicLink(root.resolve(path)).toString().getBytes(StandardCharsets.UTF_8);
            } catch (NotLinkException error) {
                return new long[] {INVALID};
            } catch (NoSuchFileException error) {
                return new long[] {MISSING};
            } catch (IOException | UnsupportedOperationException error) {
                return new long[] {INPUT_OUTPUT};
            }
            int used = Math.min(text.length, (int) arguments[4]);
            instance.memory().write((int) arguments[3], text, 0, used);
            instance.memory().writeI32((int) arguments[5], used);
            return new long[] {SUCCESS};
        });
    }
}
