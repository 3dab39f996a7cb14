import { randomUUID } from 'node:crypto'
import { Flags } from '@oclif/core'
import { type MessageCreate, Platform } from '../../core/contract/notifications.ts'
import { parseMoment } from '../arguments/moment.ts'

/** Flags of what is sent, to whom and when. */
export const messageFlags = {
  message: Flags.string({ char: 'm', summary: 'The text, up to 1000 characters.', required: true }),
  platform: Flags.string({
    summary: 'Only this platform. Repeatable; all by default.',
    options: Platform.options,
    multiple: true,
    multipleNonGreedy: true,
  }),
  at: Flags.string({ summary: 'When: an ISO 8601 date-time, or a time from now such as "in 2h". At once by default.' }),
  header: Flags.string({ summary: 'What Google shows above the text; the organization by default.' }),
}

/** The flags of a message, as they were given. */
export interface MessageFlags {
  message: string
  platform?: string[] | undefined
  at?: string | undefined
  header?: string | undefined
}

/** The body of a creation. It carries a key of its own, so that trying again after a lost answer sends nothing twice. */
export function messageBody(flags: MessageFlags, now: Date): MessageCreate {
  return {
    body: flags.message,
    idempotencyKey: randomUUID(),
    options: flags.header === undefined ? {} : { google: { header: flags.header } },
    ...(flags.platform && { platforms: flags.platform as Platform[] }),
    ...(flags.at !== undefined && { sendAt: parseMoment(flags.at, now).toISOString() }),
  }
}
