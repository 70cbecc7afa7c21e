// A standalone project writes here: addSbtPlugin("io.github.duologue" % "sbt-duologue" % "0.1.0")
lazy val build = project.in(file(".")).dependsOn(RootProject(file(sys.props("duologue.root")) / "runtime/scala/sbt"))
