import { createTransport } from 'nodemailer'
import { DiscardError, RescheduleError, SetupError } from '../../core/errors.ts'

export interface Email {
  /** The recipient: an address without a name. */
  to: string
  subject: string
  text: string
  html: string
  /** The ID of the email, by which mail programs recognize an email that was sent twice. */
  id: string
}

export type Mailer = ReturnType<typeof createMailer>

export interface MailSettings {
  /** The address of the SMTP server: smtp:// or smtps://, with the user and the password. */
  url: string
  /** The sender, as an address or `Name <address>`. */
  from: string
}

const TIMEOUT_MS = 10_000

const MAX_CONNECTIONS = 3

/** The delay, in seconds, before the next attempt while the SMTP server does not accept email. */
const RETRY_SECONDS = 30

/** @param onAttempt called after each attempt, with the reason if the SMTP server does not accept email */
export function createMailer({ url, from }: MailSettings, onAttempt: (reason?: string) => void = () => undefined) {
  const options = connectionOptions(url)
  const { hostname } = new URL(url)
  const transport = createTransport({
    ...options,
    pool: true,
    maxConnections: MAX_CONNECTIONS,
    // Without these two settings, nodemailer could read the content of an email from a file or a URL.
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return {
    /**
     * @throws DiscardError if the SMTP server permanently rejects the address or the content
     * @throws RescheduleError if the SMTP server does not accept email now. The error counts as an attempt only if the
     * SMTP server rejected the address
     */
    async send({ to, subject, text, html, id }: Email): Promise<void> {
      try {
        await transport.sendMail({
          from,
          to: { name: '', address: to },
          subject,
          text,
          html,
          messageId: `<${id}@${hostname}>`,
          headers: { 'auto-submitted': 'auto-generated' },
        })
        onAttempt()
      } catch (cause) {
        const error = toJobError(cause as SmtpError)
        onAttempt(error instanceof RescheduleError && !error.countsAsAttempt ? error.message : undefined)
        throw error
      }
    },
    close: () => transport.close(),
  }
}

/** @throws SetupError if the URL does not start with smtp:// or smtps:// */
function connectionOptions(url: string) {
  if (!/^smtps?:\/\/[^/]/.test(url) || !URL.canParse(url)) {
    throw new SetupError('--smtp-url must be an address such as smtp://user:password@mail.example.com:587')
  }
  return { url, connectionTimeout: TIMEOUT_MS, greetingTimeout: TIMEOUT_MS, socketTimeout: TIMEOUT_MS }
}

/**
 * Connects to the SMTP server and signs in, without sending an email. Returns the error on failure.
 * @throws SetupError if the URL does not start with smtp:// or smtps://
 */
export async function tryConnection(
  url: string,
  { requireTLS }: { requireTLS: boolean },
): Promise<SmtpError | undefined> {
  const options = connectionOptions(url)
  const transport = createTransport({ ...options, requireTLS, forceAuth: new URL(url).username !== '' })
  try {
    await transport.verify()
    return undefined
  } catch (error) {
    return error as SmtpError
  } finally {
    transport.close()
  }
}

export interface SmtpError extends Error {
  /** The error code of nodemailer: EENVELOPE if the server rejected an address, EMESSAGE if it rejected the content. */
  code?: string
  /** The SMTP command that failed. */
  command?: string
  responseCode?: number
}

function toJobError(error: SmtpError): Error {
  const { code, command, responseCode = 0 } = error
  // Do not include nodemailer's error or its message: they contain the recipient's address, and job errors are logged.
  // Treat a rejection of the sender as temporary, because a wrong setting causes it and affects every email.
  const isRejected = (code === 'EENVELOPE' || code === 'EMESSAGE') && responseCode >= 500 && command !== 'MAIL FROM'
  if (isRejected) return new DiscardError(`The SMTP server rejected the email with ${responseCode}.`)
  const reason = [code ?? error.name, responseCode || '', command === 'MAIL FROM' ? 'for the sender' : '']
    .join(' ')
    .trim()
  return new RescheduleError(`The SMTP server does not accept email: ${reason}.`, {
    retryAfterSeconds: RETRY_SECONDS,
    // Count an attempt if the server rejects only the recipient, such as with 450 for an unknown domain, so that the
    // job is not retried forever. Do not count 421, with which the server closes the connection.
    countsAsAttempt: command === 'RCPT TO' && responseCode >= 400 && responseCode !== 421,
  })
}
