import { z } from 'zod'

const Message = z.object({
  id: z.string().optional(),
  header: z.string().default(''),
  body: z.string().default(''),
  messageType: z.string().optional(),
})
export type Message = z.output<typeof Message>

/** The messages of an object; what is none is left out. */
export function messagesOf(object: Record<string, unknown>): Message[] {
  const list = Array.isArray(object.messages) ? object.messages : []
  return list.flatMap((value) => Message.safeParse(value).data ?? [])
}

/** What an Android phone shows when an object comes with messages that notify and that it has not seen. */
export function newMessages(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  const seen = new Set(messagesOf(before).map(keyOf))
  return messagesOf(after)
    .filter((message) => message.messageType === 'TEXT_AND_NOTIFY' && !seen.has(keyOf(message)))
    .map(({ header, body }) => `${header}: ${body}`)
}

function keyOf({ id, header, body }: Message): string {
  return id ?? JSON.stringify([header, body])
}
