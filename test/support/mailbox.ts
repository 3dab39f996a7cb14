import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

interface Received {
  from: string
  to: string[]
  content: string
}

/** A real SMTP server on loopback that keeps what it receives. */
export class Mailbox {
  readonly received: Received[] = []
  /** The response code to each recipient; 250 by default. */
  recipientCode = 250
  /** The response code to each sender; 250 by default. */
  senderCode = 250
  private server!: SMTPServer

  /** @param account if given, the server offers STARTTLS, and requires this account */
  async start(port = 0, account?: { user: string; password: string }): Promise<number> {
    this.server = new SMTPServer({
      authOptional: account === undefined,
      disabledCommands: account ? [] : ['STARTTLS'],
      onAuth: ({ username, password }, _, done) => {
        if (username === account?.user && password === account?.password) return done(null, { user: username })
        done(new Error('Invalid username or password'))
      },
      logger: false,
      closeTimeout: 100,
      onMailFrom: (_, __, done) => {
        if (this.senderCode === 250) return done()
        done(Object.assign(new Error('Sender rejected'), { responseCode: this.senderCode }))
      },
      onRcptTo: (_, __, done) => {
        if (this.recipientCode === 250) return done()
        done(Object.assign(new Error('No such user here'), { responseCode: this.recipientCode }))
      },
      onData: (stream, { envelope }, done) => {
        const parts: Buffer[] = []
        stream.on('data', (part: Buffer) => parts.push(part))
        stream.on('end', () => {
          const from = envelope.mailFrom ? envelope.mailFrom.address : ''
          this.received.push({
            from,
            to: envelope.rcptTo.map(({ address }) => address),
            content: Buffer.concat(parts).toString(),
          })
          done()
        })
      },
    })
    this.server.listen(port, '127.0.0.1')
    await once(this.server.server, 'listening')
    return (this.server.server.address() as AddressInfo).port
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.server.close(() => resolve()))
  }
}

/** Returns the link in an email. */
export function linkIn(email: { content: string }): string {
  return /https?:\/\/[^\s"<>]+\/l\/[\w-]{80}/.exec(textsIn(email).join('\n'))![0]
}

/** Returns the decoded plain text and HTML of an email. */
export function textsIn({ content }: { content: string }): string[] {
  return content
    .split(/^--.*\r\n/m)
    .slice(1, 3)
    .map((part) => {
      const [head = '', ...lines] = part.split('\r\n\r\n')
      const body = lines.join('\n\n')
      if (head.includes('base64')) return Buffer.from(body, 'base64').toString()
      const escaped = body.replaceAll(/=\r\n/g, '').replaceAll('%', '%25')
      return decodeURIComponent(escaped.replaceAll(/=([0-9A-F]{2})/g, '%$1'))
    })
}
