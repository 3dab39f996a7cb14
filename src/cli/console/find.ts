import type { Client } from '../../client/client.ts'
import { ask } from './ask.ts'
import type { Connection } from './connection.ts'
import type { ListKeeper } from './offline/list-keeper.ts'
import { candidateOf } from './offline/offline.ts'
import { type Candidate, failureMessage } from './outcome.ts'

const LIMIT = 20

/** Passes whose name or external id holds a text: of the server, else of the stored list; or why there are none. */
export async function findPasses(
  text: string,
  options: { client: Client; connection: Connection; lists: ListKeeper; projectId: string | undefined },
): Promise<Candidate[] | string> {
  const { client, connection, lists, projectId } = options
  if (connection.state === 'online') {
    const query = { search: text, limit: LIMIT, ...(projectId && { projectId }) }
    const reply = await ask((callOptions) => client.passes.list({ query }, callOptions))
    if (reply.kind === 'refusal') return failureMessage(reply.error)
    if (reply.kind === 'answer') {
      return reply.value.items.map((pass) => ({
        passId: pass.id,
        label: pass.label,
        externalPassId: pass.externalPassId,
        templateName: null,
        standing: pass.status === 'ISSUED' ? '' : pass.status.toLowerCase(),
      }))
    }
  }
  return lists.list?.search(text, LIMIT).map(candidateOf) ?? 'No answer from the server, and there is no stored list.'
}
