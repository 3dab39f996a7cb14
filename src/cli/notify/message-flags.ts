import { randomUUID } from 'node:crypto'
import { Flags } from '@oclif/core'
import type { MessageCreate } from '../../core/contract/notifications.ts'
import { Platform } from '../../core/contract/platform.ts'
import type { WrittenText } from '../../core/rules/template/definition-languages.ts'
import { repeatable } from '../arguments/list-flags.ts'
import { parseMoment } from '../arguments/moment.ts'
import { UsageError } from '../command/cli-error.ts'

export const messageFlags = {
  message: Flags.string({ char: 'm', summary: 'Text, up to 1000 characters.', exactlyOne: ['message', 'message-in'] }),
  'message-in': Flags.string({
    summary: "Text in one language, as pt=text. Repeatable; the template's default language is required.",
    ...repeatable,
  }),
  platform: Flags.string({
    summary: 'Only this platform. Repeatable; all by default.',
    options: Platform.options,
    ...repeatable,
  }),
  at: Flags.string({ summary: 'Time: an ISO 8601 date-time, or a delay such as "in 2h". Immediately by default.' }),
  header: Flags.string({
    summary: 'Header above the text at Google; by default the organization.',
    exclusive: ['header-in'],
  }),
  'header-in': Flags.string({ summary: 'Header in one language, as pt=text. Repeatable.', ...repeatable }),
}

export interface MessageFlags {
  message?: string | undefined
  'message-in'?: string[] | undefined
  platform?: string[] | undefined
  at?: string | undefined
  header?: string | undefined
  'header-in'?: string[] | undefined
}

/**
 * Builds a create request. It contains an idempotency key, so that a retry after a lost response sends nothing twice.
 * @throws UsageError
 */
export function messageBody(flags: MessageFlags, now: Date): MessageCreate {
  const header = flags.header ?? textsIn('--header-in', flags['header-in'])
  return {
    body: flags.message ?? textsIn('--message-in', flags['message-in']) ?? '',
    idempotencyKey: randomUUID(),
    options: header === undefined ? {} : { google: { header } },
    ...(flags.platform && { platforms: flags.platform as Platform[] }),
    ...(flags.at !== undefined && { sendAt: parseMoment(flags.at, now).toISOString() }),
  }
}

/** Parses texts by language, which precedes the first equals sign. The server validates the languages. */
function textsIn(flag: string, given: string[] | undefined): WrittenText | undefined {
  if (!given) return undefined
  const texts = new Map<string, string>()
  for (const one of given) {
    const at = one.indexOf('=')
    if (at < 1) throw new UsageError(`${flag} ${one} must be language=text, such as ${flag} pt="Portas às 19h"`)
    const language = one.slice(0, at).trim()
    if (texts.has(language)) throw new UsageError(`${flag} says ${language} twice`)
    texts.set(language, one.slice(at + 1))
  }
  return Object.fromEntries(texts) as WrittenText
}
