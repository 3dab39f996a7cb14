import type { Config } from '../../config.ts'
import type { SmtpError } from '../../mail/mailer.ts'
import { type Check, examine, type Finding, failed, passed } from './check.ts'

/** Checks that the SMTP server accepts a connection, its encryption, and the password. Sends no email. */
export async function checkMail({ mail }: Config): Promise<Check[]> {
  if (!mail) return []
  return examine('Email', {
    'SMTP server': { fix: 'correct --smtp-url', check: () => checkSmtp(mail.smtpUrl) },
  })
}

async function checkSmtp(smtpUrl: string): Promise<Finding> {
  const { tryConnection } = await import('../../mail/mailer.ts')
  const error = await tryConnection(smtpUrl, { requireTLS: true })
  const { hostname, host, username, protocol } = new URL(smtpUrl)
  const user = decodeURIComponent(username)
  const signedIn = user ? `signed in as ${user}` : 'without a password'
  if (!error) return passed(`${host}: ${protocol === 'smtps:' ? 'TLS' : 'STARTTLS'}, ${signedIn}`)
  if (error.command !== 'STARTTLS' || error.responseCode === undefined) return findingOf(error, host)
  const plainError = await tryConnection(smtpUrl, { requireTLS: false })
  if (plainError) return findingOf(plainError, host)
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  if (user === '' || isLocal) return passed(`${host}: not encrypted, ${signedIn}`)
  return failed(
    `${host} offers no STARTTLS, so the password is sent without encryption.`,
    'use the port of your provider for encrypted email: usually smtp:// with port 587, or smtps:// with port 465',
  )
}

const certificateFix =
  'set --smtp-url to the host that the certificate names, or add its issuer with NODE_EXTRA_CA_CERTS'

function findingOf({ code = '', responseCode, message }: SmtpError, host: string): Finding {
  if (code === 'EAUTH' || code === 'ENOAUTH') {
    return failed(
      `${host} rejects the user or the password${responseCode ? ` (${responseCode})` : ''}.`,
      'correct user and password in PASSES_SMTP_URL, and percent-encode special characters; some providers need an app password',
    )
  }
  if (/certificate/i.test(message))
    return failed(`The certificate of ${host} is not valid: ${message}.`, certificateFix)
  if (code === 'ETLS' || /wrong version number|packet length too long/i.test(message)) {
    return failed(
      `${host} does not accept the kind of TLS that --smtp-url names.`,
      'use smtps:// for a port with TLS from the start, usually 465, and smtp:// for STARTTLS, usually 587',
    )
  }
  if (code === 'EDNS') return failed(`The host of ${host} is unknown.`, 'correct the host in --smtp-url')
  return failed(
    `${host} does not accept a connection: ${message}.`,
    'check host and port of --smtp-url, and that the firewall allows it; many networks block port 25, so use 587',
  )
}
