import type { GoogleKind } from '../../core/contract/definition.ts'
import type { GoogleCalls, GoogleMessage, GoogleStoredMessage } from '../../wallets/google/api/api.ts'
import { GoogleApiError } from '../../wallets/google/api/api-error.ts'
import type { GoogleResource } from '../../wallets/google/resource.ts'

/** Messages that Google keeps on an object. */
const MAX_MESSAGES = 10

/**
 * Shows a message on an object, once however often it is asked: whoever cannot know whether an earlier try took effect
 * says so, and Google is asked first. Of a full object the oldest messages are dropped.
 * @throws GoogleApiError
 */
export async function sendMessage(
  api: GoogleCalls,
  object: { kind: GoogleKind; id: string },
  message: GoogleMessage,
  { mayBeThere }: { mayBeThere: boolean },
): Promise<void> {
  const { kind, id } = object
  if (mayBeThere && messagesOf(await api.getObject(kind, id)).some((known) => known.id === message.id)) return
  try {
    await api.addMessage(kind, id, message)
  } catch (error) {
    if (!(error instanceof GoogleApiError && error.kind === 'invalid')) throw error
    const messages = messagesOf(await api.getObject(kind, id))
    if (messages.length < MAX_MESSAGES) throw error
    // They have notified already: sent again as plain text, they cannot once more.
    const kept = messages.slice(1 - MAX_MESSAGES).map((known) => ({ ...known, messageType: 'TEXT' }))
    await api.setMessages(kind, id, kept)
    await api.addMessage(kind, id, message)
  }
}

function messagesOf(object: GoogleResource): GoogleStoredMessage[] {
  return Array.isArray(object.messages) ? object.messages : []
}
