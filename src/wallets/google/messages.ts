import type { Card } from '../../core/rules/display/card.ts'
import { textIn, UNSAID_LANGUAGE, type WrittenText } from '../../core/rules/template/languages.ts'
import type { WalletPass } from '../wallet.ts'
import type { GoogleMessage } from './api/api.ts'
import { nameOf, recordTypeOf, typeOf } from './fields.ts'
import { kindOf } from './resource.ts'
import { buildTranslated } from './translate.ts'

/** A message as it was written, for holders of whichever language. */
export interface WrittenMessage {
  /** Distinct for the pass: one that is there already is not shown again. */
  id: string
  /** The organization's name where it is empty or left out. */
  header: WrittenText | undefined
  body: WrittenText
}

/** The message as Google takes it, beside what it says in the other languages of the pass. */
export function buildMessage(
  { card, translations = [] }: Pick<WalletPass, 'card' | 'translations'>,
  { id, header, body }: WrittenMessage,
): GoogleMessage {
  const original = card.language
  const said = (text: WrittenText, { language = UNSAID_LANGUAGE }: Card) =>
    textIn(text, language, original === undefined ? undefined : { default: original })
  const build = (shown: Card): GoogleMessage => ({
    id,
    header: (header && said(header, shown)) || nameOf(shown),
    body: said(body, shown),
  })
  const type = recordTypeOf(typeOf(kindOf(card), 'Object').fields.get('messages'))
  return buildTranslated(card, translations, { type, build })
}
