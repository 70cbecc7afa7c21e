addSbtPlugin("com.typesafe" % "sbt-mima-plugin" % "1.1.4")
