ThisBuild / scalaVersion := "3.3.7"

// The runtime as source, as shipped with the compiler: it is not published.
lazy val runtime = project.settings(
  Compile / unmanagedSourceDirectories ++= Seq("scala", "java").map { language =>
    file(sys.props("duologue.root")) / "runtime/scala/src/main" / language
  }
)

lazy val thermostat = project
  .in(file("."))
  .enablePlugins(DuologuePlugin)
  .dependsOn(runtime)
  .settings(
    scalacOptions ++= Seq("-Werror", "-Wvalue-discard", "-Wnonunit-statement"),
    duologueExecutable := sys.props.getOrElse("duologue.executable", "duologue")
  )
