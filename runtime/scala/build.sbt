// Everything that Duologue publishes for Scala: the runtime, the modules for sockets, NATS, ZIO and cats-effect, and the sbt plugin.
// `sbt install` makes all of it available to other builds on this machine, for Scala 2.13 and 3.

val scala2 = "2.13.18"
val scala3 = "3.3.7"

ThisBuild / organization := "io.github.duologue"
ThisBuild / version := "0.1.0"
ThisBuild / versionScheme := Some("early-semver")
ThisBuild / homepage := Some(url("https://github.com/duologue/duologue"))
ThisBuild / licenses := Seq(License.MIT, License.Apache2)
ThisBuild / scmInfo := Some(
  ScmInfo(url("https://github.com/duologue/duologue"), "scm:git:https://github.com/duologue/duologue.git")
)
ThisBuild / developers := List(
  Developer("duologue", "The Duologue developers", "", url("https://github.com/duologue/duologue"))
)

val published = Seq(
  scalaVersion := scala3,
  crossScalaVersions := Seq(scala2, scala3),
  javacOptions ++= Seq("--release", "17"),
  Compile / doc / javacOptions := Nil,
  scalacOptions ++= Seq("-Werror", "-deprecation", "-feature", "-unchecked", "-Wvalue-discard", "-Wnonunit-statement"),
  scalacOptions ++= (if (scalaBinaryVersion.value == "3") Seq("-Wunused:all", "-language:strictEquality") else Seq("-Xlint", "-Wunused")),
  // Comments may link to members that are visible only in the sources.
  Compile / doc / scalacOptions -= "-Werror",
  libraryDependencies += "org.scalameta" %% "munit" % "1.2.4" % Test,
  Test / fork := true,
  // The release that this version must be binary compatible with. There is none yet.
  mimaPreviousArtifacts := Set.empty
)

// The tests of the modules use protocols that the compiler has to generate first: `cargo test` runs them.
val testedElsewhere = Test / unmanagedSourceDirectories := Nil

lazy val runtime = project
  .in(file("."))
  .aggregate(LocalProject("net"), LocalProject("nats"), LocalProject("zio"), LocalProject("cats"))
  .settings(
    published,
    name := "duologue-runtime",
    description := "Sessions, endpoints and the pipes between them, for code that Duologue generates"
  )

lazy val net = project
  .in(file("net"))
  .dependsOn(runtime)
  .settings(
    published,
    testedElsewhere,
    name := "duologue-net",
    description := "Sessions of Duologue over sockets"
  )

lazy val nats = project
  .in(file("nats"))
  .dependsOn(net)
  .settings(
    published,
    testedElsewhere,
    name := "duologue-nats",
    description := "Servers of Duologue that are found with NATS",
    libraryDependencies += "io.nats" % "jnats" % "2.26.2"
  )

lazy val zio = project
  .in(file("zio"))
  .dependsOn(runtime)
  .settings(
    published,
    testedElsewhere,
    name := "duologue-zio",
    description := "Sessions of Duologue in ZIO",
    libraryDependencies += "dev.zio" %% "zio-streams" % "2.1.24"
  )

lazy val cats = project
  .in(file("cats"))
  .dependsOn(runtime)
  .settings(
    published,
    testedElsewhere,
    name := "duologue-cats",
    description := "Sessions of Duologue in cats-effect",
    libraryDependencies ++= Seq("org.typelevel" %% "cats-effect" % "3.6.3", "co.fs2" %% "fs2-core" % "3.12.2")
  )

// Not part of the aggregate: sbt runs its plugins with one version of Scala.
lazy val plugin = project
  .in(file("sbt"))
  .settings(mimaPreviousArtifacts := Set.empty)

addCommandAlias("install", "+publishLocal; plugin/publishLocal")
