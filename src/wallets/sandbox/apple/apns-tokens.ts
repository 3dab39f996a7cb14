import { randomBytes } from 'node:crypto'
import { openJournal } from '../journal.ts'

/** The push tokens of phones: those that the sandbox has handed out, and any other that could be one of a phone. */
export interface DeviceTokens {
  /** A fresh token of 64 hex characters; one with a topic takes no pushes of another. */
  issue(topic?: string): string
  /** Undefined for what no phone has: a token that is not well-formed. */
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

/** Bytes in hexadecimal, 32 at least, as phones have them; Apple promises no length. */
const WELL_FORMED = /^([0-9a-f]{2}){32,100}$/

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
  const find = (text: string) => {
    const token = text.toLowerCase()
    return tokens.get(token) ?? (WELL_FORMED.test(token) ? { token } : undefined)
  }
  return {
    issue(topic) {
      const token = randomBytes(32).toString('hex')
      put({ token, ...(topic !== undefined && { topic }) })
      return token
    },
    find,
    retire(token, at) {
      const device = find(token)
      if (device) put({ ...device, retiredAt: at.getTime() })
    },
    close: () => journal.close(),
  }
}
