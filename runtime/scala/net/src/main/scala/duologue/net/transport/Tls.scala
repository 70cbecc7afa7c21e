package duologue.net

import java.nio.file.{Files, Path}
import java.security.cert.{CertificateException, CertificateFactory, X509Certificate}
import java.security.spec.PKCS8EncodedKeySpec
import java.security.{GeneralSecurityException, KeyFactory, KeyStore, PrivateKey, SecureRandom, Signature}
import java.util.Base64
import javax.net.ssl.{KeyManagerFactory, SSLContext, SSLEngine, SSLParameters, SSLSessionContext, TrustManagerFactory}
import scala.jdk.CollectionConverters.CollectionHasAsScala

/** What sessions at `tls://HOST:PORT` need: an `SSLContext` with this side's certificate and with the authorities that it trusts.
  * Both sides present a certificate. The context is an option of [[connect]] and of [[Listener]]. TLS sessions are not resumed, so that
  * certificates are checked each time; to achieve this, the session timeouts of the context are changed.
  */
object Tls {

  /** Makes a context from files in PEM format.
    *
    * @param ca
    *   certificates of the authorities that sign the peers' certificates
    * @param certificate
    *   this side's certificate, followed by any intermediate certificates
    * @param key
    *   the private key of the certificate, in PKCS#8: `BEGIN PRIVATE KEY`
    *
    * Throws `IOException` if a file cannot be read, and `IllegalArgumentException` if its content cannot be used.
    */
  def context(ca: Path, certificate: Path, key: Path): SSLContext = {
    val authorities = certificates(ca)
    val chain = certificates(certificate)
    val store = KeyStore.getInstance("PKCS12")
    store.load(null, null)
    store.setKeyEntry("own", keyOf(key, certificate, chain(0)), Array.emptyCharArray, chain.toArray)
    val keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm)
    keys.init(store, Array.emptyCharArray)
    val trusted = KeyStore.getInstance("PKCS12")
    trusted.load(null, null)
    authorities.zipWithIndex.foreach { case (authority, index) => trusted.setCertificateEntry(index.toString, authority) }
    val trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm)
    trust.init(trusted)
    val context = SSLContext.getInstance(Version)
    context.init(keys.getKeyManagers, trust.getTrustManagers, new SecureRandom)
    context
  }

  private[net] val Application = "duologue/1"
  private val Version = "TLSv1.3"

  private[net] def client(context: SSLContext, host: String, port: Int): SSLEngine =
    engine(single(context.createSSLEngine(host, port), context.getClientSessionContext), isClient = true)(_.setEndpointIdentificationAlgorithm("HTTPS"))

  private[net] def server(context: SSLContext): SSLEngine =
    engine(single(context.createSSLEngine(), context.getServerSessionContext), isClient = false)(_.setNeedClientAuth(true))

  /** JSSE issues no session tickets, and keeps none, if the timeout of sessions is longer than TLS 1.3 allows for a ticket. So each
    * connection checks the peer's certificate: a ticket would be accepted even after the certificate has expired.
    */
  private def single(engine: SSLEngine, sessions: SSLSessionContext): SSLEngine = {
    sessions.setSessionTimeout(LongestTicket + 1)
    engine
  }

  /** In seconds: RFC 8446, 4.6.1. */
  private val LongestTicket = 604800

  private def engine(engine: SSLEngine, isClient: Boolean)(demand: SSLParameters => Unit): SSLEngine = {
    engine.setUseClientMode(isClient)
    val parameters = engine.getSSLParameters
    parameters.setProtocols(Array(Version))
    parameters.setApplicationProtocols(Array(Application))
    demand(parameters)
    engine.setSSLParameters(parameters)
    engine
  }

  private[net] def missing(address: String, option: String): IllegalArgumentException = new IllegalArgumentException(
    "`" + address + "` needs certificates: pass `" + option + "`, where the context is an SSLContext, such as the one that `Tls.context(ca, certificate, key)` makes from PEM files"
  )

  private def certificates(file: Path): Vector[X509Certificate] = {
    val in = Files.newInputStream(file)
    val found =
      try CertificateFactory.getInstance("X.509").generateCertificates(in).asScala.toVector
      catch { case failed: CertificateException => throw malformed(file, "holds a certificate that cannot be read", failed) }
      finally in.close()
    val all = found.collect { case certificate: X509Certificate => certificate }
    if (all.isEmpty) throw malformed(file, "holds no certificate in PEM format", null)
    all
  }

  private val KeyBlock = "(?s)-----BEGIN ([A-Z0-9 ]*PRIVATE KEY)-----(.*?)-----END ".r

  private def keyOf(file: Path, certificateFile: Path, certificate: X509Certificate): PrivateKey = {
    val algorithm = certificate.getPublicKey.getAlgorithm
    val key =
      try
        KeyBlock.findFirstMatchIn(Files.readString(file)) match {
          case Some(block) if block.group(1) == "PRIVATE KEY" =>
            KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(Base64.getMimeDecoder.decode(block.group(2))))
          case Some(block) =>
            val command = "openssl pkcs8 -topk8 -nocrypt -in " + file.toString
            throw malformed(file, "holds a `" + block.group(1) + "`; convert it to PKCS#8 without a password: " + command, null)
          case None => throw malformed(file, "holds no private key in PEM format", null)
        }
      catch {
        case failed: GeneralSecurityException =>
          throw malformed(file, "holds no key for the algorithm " + algorithm + ", which the certificate in " + certificateFile.toString + " uses", failed)
      }
    if (!fits(key, certificate)) throw malformed(file, "holds a different key from that of the certificate in " + certificateFile.toString, null)
    key
  }

  /** Whether the certificate is for this key; true if that cannot be determined here. */
  private def fits(key: PrivateKey, certificate: X509Certificate): Boolean = {
    val signing = Map("RSA" -> "SHA256withRSA", "EC" -> "SHA256withECDSA", "EdDSA" -> "EdDSA").get(key.getAlgorithm)
    signing.forall { name =>
      val text = Application.getBytes(java.nio.charset.StandardCharsets.US_ASCII)
      val signer = Signature.getInstance(name)
      signer.initSign(key)
      signer.update(text)
      val signature = signer.sign()
      val verifier = Signature.getInstance(name)
      // Not with the certificate itself, which may forbid signatures of this kind.
      verifier.initVerify(certificate.getPublicKey)
      verifier.update(text)
      verifier.verify(signature)
    }
  }

  private def malformed(file: Path, what: String, cause: Throwable): IllegalArgumentException =
    new IllegalArgumentException(file.toString + " " + what, cause)
}
