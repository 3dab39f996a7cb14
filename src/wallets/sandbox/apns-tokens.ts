import { randomBytes } from 'node:crypto'
import { openJournal } from './journal.ts'

/** The push tokens that the sandbox has handed out. */
export interface DeviceTokens {
  /** A fresh token of 64 hex characters; one with a topic takes no pushes of another. */
  issue(topic?: string): string
  find(token: string): DeviceToken | undefined
  /** From now on pushes to the token are answered with 410. */
  retire(token: string, at: Date): void
  close(): void
}

export interface DeviceToken {
  token: string
  topic?: string
  /** Milliseconds since 1970. */
  retiredAt?: number
}

export function openDeviceTokens(stateFile: string | undefined): DeviceTokens {
  const tokens = new Map<string, DeviceToken>()
  const journal = openJournal<DeviceToken>(stateFile, (entries) => {
    for (const entry of entries) tokens.set(entry.token, entry)
    return [...tokens.values()]
  })
  const put = (entry: DeviceToken) => {
    journal.append(entry)
    tokens.set(entry.token, entry)
  }
  return {
    issue(topic) {
      const token = randomBytes(32).toString('hex')
      put({ token, ...(topic !== undefined && { topic }) })
      return token
    },
    find: (token) => tokens.get(token.toLowerCase()),
    retire(token, at) {
      const known = tokens.get(token.toLowerCase())
      if (known) put({ ...known, retiredAt: at.getTime() })
    },
    close: () => journal.close(),
  }
}
