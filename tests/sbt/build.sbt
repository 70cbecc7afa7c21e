ThisBuild / scalaVersion := "3.3.7"

// The runtime of this repository, from source. A standalone project needs neither this nor the two lines about it below: the plugin
// adds the published runtime.
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
    duologueRuntime := None,
    duologueExecutable := sys.props.get("duologue.executable")
  )
