package duologue.net

import java.io.FileInputStream
import java.nio.file.{Files, Path}
import java.security.KeyStore
import java.security.cert.Certificate
import java.util.Base64
import javax.net.ssl.SSLContext

/** Certificates that the tests make with the JDK's `keytool`, as PEM files. `right` is the authority of all but one of them. */
final class Certificates(folder: Path) {
  private val password = "password"
  private val file = folder.resolve("all.p12")

  private def keytool(name: String, options: String*): Unit = {
    val tool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString
    val common = List("-J-XX:TieredStopAtLevel=1", "-genkeypair", "-alias", name, "-dname", "CN=" + name, "-keyalg", "EC", "-groupname", "secp256r1")
    val store = List("-keystore", file.toString, "-storetype", "PKCS12", "-storepass", password)
    val command = tool :: common ::: store ::: options.toList
    val process = new ProcessBuilder(command: _*).redirectErrorStream(true).start()
    val printed = new String(process.getInputStream.readAllBytes())
    if (process.waitFor() != 0) throw new IllegalStateException(printed)
  }

  private val local = List("-ext", "SAN=dns:localhost,ip:127.0.0.1")
  private val long = List("-validity", "3650")
  // Each takes a process of its own.
  if (!Files.exists(file)) {
    keytool("right", "-ext" :: "bc:c" :: long: _*)
    keytool("wrong", "-ext" :: "bc:c" :: long: _*)
    keytool("server", "-signer" :: "right" :: local ::: long: _*)
    keytool("client", "-signer" :: "right" :: long: _*)
    keytool("stranger", "-signer" :: "wrong" :: local ::: long: _*)
    keytool("expired", "-signer" :: "right" :: "-startdate" :: "-30d" :: "-validity" :: "1" :: local: _*)
    keytool("elsewhere", "-signer" :: "right" :: "-ext" :: "SAN=dns:elsewhere.example" :: long: _*)
  }

  private val store = KeyStore.getInstance("PKCS12")
  locally {
    val in = new FileInputStream(file.toFile)
    try store.load(in, password.toCharArray)
    finally in.close()
  }

  private def pem(name: String, what: String, blocks: Array[Byte]*): Path = {
    val encoder = Base64.getMimeEncoder(64, Array('\n'.toByte))
    val texts = blocks.map(block => "-----BEGIN " + what + "-----\n" + encoder.encodeToString(block) + "\n-----END " + what + "-----\n")
    Files.writeString(folder.resolve(name), texts.mkString)
  }

  def ca(name: String): Path = pem(name + ".ca", "CERTIFICATE", store.getCertificate(name).getEncoded)

  def chain(name: String): Path = {
    val chain: Array[Certificate] = store.getCertificateChain(name)
    pem(name + ".pem", "CERTIFICATE", chain.toIndexedSeq.map(_.getEncoded): _*)
  }

  def key(name: String, what: String = "PRIVATE KEY"): Path =
    pem(name + ".key", what, store.getKey(name, password.toCharArray).getEncoded)

  /** The context of the side with this certificate, which trusts this authority. */
  def context(name: String, authority: String = "right"): SSLContext = Tls.context(ca(authority), chain(name), key(name))

  /** The context of a side without a certificate. */
  def anonymous: SSLContext = {
    val trusted = KeyStore.getInstance("PKCS12")
    trusted.load(null, null)
    trusted.setCertificateEntry("right", store.getCertificate("right"))
    val trust = javax.net.ssl.TrustManagerFactory.getInstance("PKIX")
    trust.init(trusted)
    val context = SSLContext.getInstance("TLS")
    context.init(null, trust.getTrustManagers, null)
    context
  }
}

object Certificates {

  /** In the folder of the property `duologue.certificates`, in which another process may have made them. */
  lazy val shared: Certificates = new Certificates(Path.of(System.getProperty("duologue.certificates")))

  /** Writes the files of a server and a client into a folder, for programs. */
  def main(arguments: Array[String]): Unit = {
    val folder = Path.of(arguments(0))
    val certificates = new Certificates(folder)
    List("server", "client").foreach { name =>
      certificates.chain(name): Unit
      certificates.key(name): Unit
    }
    Files.move(certificates.ca("right"), folder.resolve("ca.pem")): Unit
  }
}
