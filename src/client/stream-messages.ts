/** A server-sent event: its ID, and its data if any. */
interface StreamedMessage {
  id: string
  data: string
}

/**
 * Parses a stream of server-sent events according to the standard, except for event names and retry times, which a
 * passes server does not send.
 */
export async function* messagesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamedMessage> {
  const decoder = new TextDecoder()
  let text = ''
  let message = { id: '', data: '' }
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true })
    const lines = text.split(/\r?\n/)
    text = lines.pop()!
    for (const line of lines) {
      if (line === '') {
        yield message
        message = { id: '', data: '' }
      }
      const [, field, value = ''] = /^(id|data): ?(.*)$/.exec(line) ?? []
      if (field === 'id') message.id = value
      else if (field === 'data') message.data += value
    }
  }
}
