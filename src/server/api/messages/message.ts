import type { Languages } from '../../../core/contract/languages.ts'
import type { MessageCreate, MessageOptions, Platform } from '../../../core/contract/notifications.ts'
import { ApiError, listIssues, validationError } from '../../../core/errors.ts'
import { checkMessageLanguages, isByLanguage } from '../../../core/rules/sending/message-texts.ts'
import type { WrittenText } from '../../../core/rules/template/languages.ts'
import type { Wallets } from '../../boot/wallets.ts'

/** What a creation asked for, with what it left out. */
export interface Message {
  body: WrittenText
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

/**
 * A message that says things by language has those of the passes that it may go to.
 * @throws Problem VALIDATION_ERROR
 */
export async function requireLanguages(
  message: Pick<MessageCreate, 'body' | 'options'>,
  listDeclared: () => Promise<Languages[]>,
): Promise<void> {
  if (!isByLanguage(message)) return
  const issues = listIssues(checkMessageLanguages(message, await listDeclared()))
  if (issues.length > 0) throw validationError(issues)
}

/** A row, and whether this request made it. */
export interface Created<T> {
  row: T
  isNew: boolean
}

/** A key that is taken again and again by what cannot be found stands for a message of another project. */
const MAX_ATTEMPTS = 5

/**
 * One effect for one idempotency key, however many requests hold it at once: what is there already, or what is made now.
 * @param find what the key stands for; undefined where nobody used it, or none was given
 * @param insert undefined where another request took the key in the meantime, which may even have been cancelled since
 */
export async function createOnce<T>(
  find: () => Promise<T | undefined>,
  insert: () => Promise<Created<T> | undefined>,
): Promise<Created<T>> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const known = await find()
    if (known !== undefined) return { row: known, isNew: false }
    const created = await insert()
    if (created) return created
  }
  throw new ApiError('CONFLICT', { message: 'The idempotencyKey is taken by a message that this token does not see.' })
}
