// The sbt plugin. `sbt publishLocal` makes it available to other builds.
sbtPlugin := true
organization := "duologue"
name := "sbt-duologue"
version := "0.1.0"
scalacOptions ++= Seq("-deprecation", "-feature", "-Xlint", "-Xfatal-warnings")
