import type { Languages } from '../../../core/contract/languages.ts'
import type { MessageCreate } from '../../../core/contract/notifications.ts'
import { ApiError, listIssues, validationError } from '../../../core/errors.ts'
import { checkMessageLanguages, isByLanguage } from '../../../core/rules/sending/message-texts.ts'
import type { NewMessage } from '../../../storage/messages/notification-row.ts'
import type { Wallets } from '../../../wallets/wallets.ts'
import type { RequestContext } from '../../context.ts'

/** What a creation asked for: all platforms that are configured by default, each once; a time that is not in the future means at once. */
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

/**
 * A message that says things by language has those of the passes that it may go to.
 * @throws ApiError VALIDATION_ERROR
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

/** Messages of one kind, which are found by their idempotency keys. */
interface Messages<T> {
  findByKey(workspaceId: string, idempotencyKey: string): Promise<T | undefined>
}

/** What the idempotency key of a request stands for; undefined where nobody used it, or none was given. */
export async function findKnown<T>(
  messages: Messages<T>,
  workspaceId: string,
  { idempotencyKey }: MessageCreate,
): Promise<T | undefined> {
  return idempotencyKey === undefined ? undefined : messages.findByKey(workspaceId, idempotencyKey)
}

/**
 * One effect for one idempotency key, however many requests hold it at once: what is there already, or what is made now. What is
 * known goes before every rejection, that of a full queue too.
 * @param insert undefined where another request took the key in the meantime, which may even have been cancelled since
 * @throws ApiError CONFLICT, TOO_MANY_REQUESTS
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
  throw new ApiError('CONFLICT', { message: 'The idempotencyKey is taken by a message that this token does not see.' })
}
