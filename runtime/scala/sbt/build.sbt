// The sbt plugin. It is part of the build in the directory above, and a build of its own for programs that take it from source.
sbtPlugin := true
organization := "io.github.duologue"
name := "sbt-duologue"
version := "0.1.0"
description := "Generates endpoints for the protocols of an sbt project"
scalacOptions ++= Seq("-deprecation", "-feature", "-Xlint", "-Xfatal-warnings")

// The plugin adds the runtime of its own version.
Compile / sourceGenerators += Def.task {
  val file = (Compile / sourceManaged).value / "Version.scala"
  val text = s"""package duologue.sbt\n\nprivate[sbt] object Version {\n  val value = "${version.value}"\n}\n"""
  if (!file.exists || IO.read(file) != text) IO.write(file, text)
  Seq(file)
}.taskValue
