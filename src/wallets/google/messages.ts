import type { GoogleKind } from '../../core/contract/schemas/definition.ts'
import type { Card } from '../../core/rules/display/card.ts'
import { textIn, UNSAID_LANGUAGE, type WrittenText } from '../../core/rules/template/definition-languages.ts'
import type { WalletPass } from '../wallet.ts'
import { GoogleApiError } from './api/api-error.ts'
import { type GoogleCalls, type GoogleMessage, MAX_MESSAGES, messagesOf } from './api/google-api.ts'
import { type GoogleRole, nameOf, recordTypeOf, typeOf } from './fields.ts'
import { kindOf } from './resource.ts'
import { buildTranslated } from './translate.ts'

export interface WrittenMessage {
  /** The ID, unique within the pass. Google ignores a message with an existing ID. */
  id: string
  /** If empty or omitted, the header is the name of the organization. */
  header: WrittenText | undefined
  body: WrittenText
}

export function buildMessage(
  { card, translations = [] }: Pick<WalletPass, 'card' | 'translations'>,
  { id, header, body }: WrittenMessage,
): GoogleMessage {
  const original = card.language
  const inLanguage = (text: WrittenText, { language = UNSAID_LANGUAGE }: Card) =>
    textIn(text, language, original === undefined ? undefined : { default: original })
  const build = (shown: Card): GoogleMessage => ({
    id,
    header: (header && inLanguage(header, shown)) || nameOf(shown),
    body: inLanguage(body, shown),
  })
  const type = recordTypeOf(typeOf(kindOf(card), 'Object').fields.get('messages'))
  return buildTranslated(card, translations, { type, build })
}

/**
 * Adds a message exactly once. Set `mayBeThere` if an earlier attempt can have succeeded. If the object or the class
 * already has the maximum number of messages, removes the oldest.
 * @throws GoogleApiError
 */
export async function sendMessage(
  api: GoogleCalls,
  { kind, id, role = 'Object' }: { kind: GoogleKind; id: string; role?: GoogleRole },
  message: GoogleMessage,
  { mayBeThere }: { mayBeThere: boolean },
): Promise<void> {
  const read = async () => messagesOf(await api.getObject(kind, id, role))
  if (mayBeThere && (await read()).some((known) => known.id === message.id)) return
  try {
    await api.addMessage(kind, id, message, role)
  } catch (error) {
    if (!(error instanceof GoogleApiError && error.kind === 'invalid')) throw error
    const messages = await read()
    if (messages.length < MAX_MESSAGES) throw error
    // Send the kept messages as plain text, so that phones do not notify users of these messages again.
    const kept = messages.slice(1 - MAX_MESSAGES).map((known) => ({ ...known, messageType: 'TEXT' }))
    await api.setMessages(kind, id, kept, role)
    await api.addMessage(kind, id, message, role)
  }
}
