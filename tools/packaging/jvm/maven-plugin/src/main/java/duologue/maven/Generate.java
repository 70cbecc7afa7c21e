package duologue.maven;

import duologue.compiler.Compiler;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.maven.plugin.AbstractMojo;
import org.apache.maven.plugin.MojoExecutionException;
import org.apache.maven.plugin.MojoFailureException;
import org.apache.maven.plugins.annotations.LifecyclePhase;
import org.apache.maven.plugins.annotations.Mojo;
import org.apache.maven.plugins.annotations.Parameter;
import org.apache.maven.project.MavenProject;

/** Generates endpoints in Scala for the protocols of a project, before it is compiled. */
@Mojo(name = "generate", defaultPhase = LifecyclePhase.GENERATE_SOURCES, threadSafe = true)
public final class Generate extends AbstractMojo {

    /** The directory that contains the protocols. */
    @Parameter(defaultValue = "${project.basedir}/src/main/protocols")
    private File source;

    /** Where the generated code goes. */
    @Parameter(defaultValue = "${project.build.directory}/generated-sources/duologue")
    private File output;

    /** More options for `duologue gen`, such as `--remote`. */
    @Parameter
    private List<String> options = List.of();

    /** A native compiler: a path, or a name to look up in PATH. Without it, the compiler runs on this Java virtual machine. */
    @Parameter(property = "duologue.executable")
    private String executable;

    @Parameter(defaultValue = "${project}", readonly = true, required = true)
    private MavenProject project;

    /** Called by Maven. */
    public Generate() {}

    @Override
    public void execute() throws MojoExecutionException, MojoFailureException {
        List<String> arguments = new ArrayList<>();
        arguments.addAll(List.of("gen", source.getPath(), "--scala", output.getPath(), "--clean", "--color", "never"));
        arguments.addAll(options);
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        int code = executable == null
                ? Compiler.run(arguments, project.getBasedir().toPath(), printed, printed)
                : runNative(arguments, printed);
        String text = printed.toString(StandardCharsets.UTF_8).stripTrailing();
        if (code != 0) {
            throw new MojoFailureException("the protocols in " + source + " cannot be compiled\n" + text);
        }
        text.lines().forEach(getLog()::info);
        project.addCompileSourceRoot(output.getPath());
    }

    private int runNative(List<String> arguments, ByteArrayOutputStream printed) throws MojoExecutionException {
        List<String> command = new ArrayList<>();
        command.add(executable);
        command.addAll(arguments);
        try {
            Process process = new ProcessBuilder(command).directory(project.getBasedir()).redirectErrorStream(true).start();
            process.getOutputStream().close();
            process.getInputStream().transferTo(printed);
            return process.waitFor();
        } catch (java.io.IOException error) {
            throw new MojoExecutionException(executable + " cannot be run: " + error.getMessage(), error);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new MojoExecutionException("the build was interrupted", error);
        }
    }
}
