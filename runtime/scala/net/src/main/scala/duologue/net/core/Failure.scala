package duologue.net

import java.io.IOException
import java.net.SocketTimeoutException
import java.security.cert.{CertPathBuilderException, CertificateException, CertificateExpiredException}
import javax.net.ssl.SSLException
import scala.annotation.tailrec

/** Why a connection could not be used. */
private[net] object Failure {

  def late(): IOException = new SocketTimeoutException("the peer did not answer in time")

  /** A description of the failure for people. */
  def explain(failed: IOException): String = {
    val message = String.valueOf(failed.getMessage)
    if (!failed.isInstanceOf[SSLException]) message
    else {
      val why = causes(failed, Nil)
      val what = why.collectFirst {
        case expired: CertificateExpiredException => "the peer's certificate has expired: " + expired.getMessage
        case unknown: CertPathBuilderException =>
          "the peer's certificate is not signed by an authority that this side trusts: " + unknown.getMessage
        case other: CertificateException if other.getMessage != null => "the peer's certificate is not valid: " + other.getMessage
      }
      what.getOrElse {
        if (message.contains("certificate_required"))
          "the peer requires a certificate, and this side has none of an authority that the peer trusts: " + message
        else if (message.contains("Empty client certificate"))
          "the peer presented no certificate: it has none, or none of an authority that this side trusts; give it one, with its key"
        else if (message.contains("AEAD cipher fragment (2)"))
          // OpenSSL encrypts its alert only after its certificate, and JSSE cannot read it.
          "the peer has ended the TLS handshake with an alert that is not encrypted: probably it does not accept this side's certificate"
        else if (CertificateAlert.findFirstIn(message).nonEmpty) "the peer does not accept this side's certificate: " + message
        else message
      }
    }
  }

  private val CertificateAlert = "fatal alert: .*(certificate|unknown_ca)".r

  /** The failure and its causes, the innermost first: an outer one may say less. */
  @tailrec
  private def causes(failed: Throwable, found: List[Throwable]): List[Throwable] =
    if (failed == null || found.length > 16) found else causes(failed.getCause, failed :: found)
}
