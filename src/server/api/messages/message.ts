import type { MessageCreate, MessageOptions, Platform } from '../../../core/contract/notifications.ts'
import type { Wallets } from '../../boot/wallets.ts'

/** What a creation asked for, with what it left out. */
export interface Message {
  body: string
  options: MessageOptions
  platforms: Platform[]
  /** Null for what is sent at once. */
  sendAt: Date | null
  idempotencyKey: string | null
}

/** All platforms that are configured by default, each once; a time that is not in the future means at once. */
export function parseMessage(given: MessageCreate, wallets: Wallets, now: Date): Message {
  const configured = wallets.all.map((wallet) => wallet.platform)
  const sendAt = given.sendAt === undefined ? null : new Date(given.sendAt)
  return {
    body: given.body,
    options: given.options,
    platforms: [...new Set(given.platforms ?? configured)].sort(),
    sendAt: sendAt !== null && sendAt > now ? sendAt : null,
    idempotencyKey: given.idempotencyKey ?? null,
  }
}
