package duologue.compiler;

import com.dylibso.chicory.runtime.HostFunction;
import com.dylibso.chicory.runtime.Instance;
import com.dylibso.chicory.runtime.WasmFunctionHandle;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotLinkException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * Two functions of WASI in place of Chicory's: its `path_readlink` returns only the last name of the path that a link contains, and its
 * `path_rename` asks for an option that no file system of a disk has. The module has only one directory, the root, so every path is
 * relative to it.
 */
final class Paths {

    private static final long[] SUCCESS = {0};
    private static final long[] INVALID = {28};
    private static final long[] INPUT_OUTPUT = {29};
    private static final long[] MISSING = {44};
    private static final long[] NOT_EMPTY = {55};

    private Paths() {}

    /** The function to use for one of Chicory's. */
    static HostFunction replaced(HostFunction own, Path root) {
        WasmFunctionHandle handle;
        switch (own.name()) {
            case "path_readlink":
                handle = (instance, arguments) -> readLink(instance, root, arguments);
                break;
            case "path_rename":
                handle = (instance, arguments) -> rename(instance, root, arguments);
                break;
            default:
                return own;
        }
        return new HostFunction(own.module(), own.name(), own.functionType(), handle);
    }

    private static Path path(Instance instance, Path root, long address, long length) {
        return root.resolve(instance.memory().readString((int) address, (int) length));
    }

    private static long[] readLink(Instance instance, Path root, long[] arguments) {
        byte[] text;
        try {
            Path link = path(instance, root, arguments[1], arguments[2]);
            text = Files.readSymbolicLink(link).toString().getBytes(StandardCharsets.UTF_8);
        } catch (NotLinkException | InvalidPathException error) {
            return INVALID;
        } catch (NoSuchFileException error) {
            return MISSING;
        } catch (IOException | UnsupportedOperationException error) {
            return INPUT_OUTPUT;
        }
        int used = Math.min(text.length, (int) arguments[4]);
        instance.memory().write((int) arguments[3], text, 0, used);
        instance.memory().writeI32((int) arguments[5], used);
        return SUCCESS;
    }

    private static long[] rename(Instance instance, Path root, long[] arguments) {
        try {
            Path from = path(instance, root, arguments[1], arguments[2]);
            Path to = path(instance, root, arguments[4], arguments[5]);
            Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
        } catch (InvalidPathException error) {
            return INVALID;
        } catch (NoSuchFileException error) {
            return MISSING;
        } catch (DirectoryNotEmptyException error) {
            return NOT_EMPTY;
        } catch (IOException | UnsupportedOperationException error) {
            return INPUT_OUTPUT;
        }
        return SUCCESS;
    }
}
