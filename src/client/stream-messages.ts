/** A server-sent event. `id` and `data` are empty if the event has none. */
interface StreamedMessage {
  id: string
  data: string
}

/**
 * Parses server-sent events in the form that a passes server sends: with an ID and at most one line of data. Ignores
 * event names and retry times.
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
