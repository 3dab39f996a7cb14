import type { MessageCreate } from '../../../core/contract/messages/notifications.ts'
import type { Languages } from '../../../core/contract/schemas/language-tags.ts'
import { ApiError, listIssues, validationError } from '../../../core/errors.ts'
import { checkMessageLanguages, isByLanguage } from '../../../core/rules/sending/message-texts.ts'
import type { NewMessage } from '../../../storage/messages/notification-row.ts'
import type { Wallets } from '../../../wallets/wallets.ts'
import type { RequestContext } from '../../context.ts'

/**
 * Returns the normalized message of a creation request. A `sendAt` that is not in the future becomes `null`, so that
 * the message is sent immediately.
 */
export function parseMessage(given: MessageCreate, wallets: Wallets, now: Date): Omit<NewMessage, 'id'> {
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

/** @throws ApiError VALIDATION_ERROR if the languages of a message do not fit the passes that can receive it */
export async function requireLanguages(
  message: Pick<MessageCreate, 'body' | 'options'>,
  listDeclared: () => Promise<Languages[]>,
): Promise<void> {
  if (!isByLanguage(message)) return
  const issues = listIssues(checkMessageLanguages(message, await listDeclared()))
  if (issues.length > 0) throw validationError(issues)
}

export interface Created<T> {
  row: T
  isNew: boolean
}

/**
 * The maximum number of attempts to find or insert a message. If all attempts fail, the message with the idempotency
 * key is in a project that the token cannot access.
 */
const MAX_ATTEMPTS = 5

interface Messages<T> {
  findByKey(workspaceId: string, idempotencyKey: string): Promise<T | undefined>
}

/** Returns the message with the idempotency key of a request; undefined without such a message, or without a key. */
export async function findKnown<T>(
  messages: Messages<T>,
  workspaceId: string,
  { idempotencyKey }: MessageCreate,
): Promise<T | undefined> {
  return idempotencyKey === undefined ? undefined : messages.findByKey(workspaceId, idempotencyKey)
}

/**
 * Returns the message with the idempotency key, or creates it. Concurrent requests create it only once. An existing
 * message is returned even if a new one would be rejected, for example because the queue is full.
 * @param insert inserts the message; returns undefined if another request used the key in the meantime
 * @throws ApiError CONFLICT if the queue is full, or if the token cannot access the message of the key
 */
export async function createOnce<T>(
  messages: Messages<T>,
  body: MessageCreate,
  context: RequestContext,
  insert: () => Promise<Created<T> | undefined>,
): Promise<Created<T>> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const known = await findKnown(messages, context.workspaceId, body)
    if (known !== undefined) return { row: known, isNew: false }
    const rejection = await context.services.takeQueue(context, 1)
    if (rejection) throw rejection
    const created = await insert()
    if (created) return created
  }
  throw new ApiError('CONFLICT', {
    message: 'The idempotencyKey is already used by a message that this token cannot access.',
  })
}
