import { Args, Flags } from '@oclif/core'
import type { Client } from '../../client/client.ts'
import type { Pass } from '../../core/contract/passes.ts'
import { CliError } from '../command/errors.ts'
import { checkId } from './id-argument.ts'

export const passArgs = {
  id: Args.string({ description: 'Id of the pass, or with --external your own key of it.', required: true }),
}

export const passFlags = {
  external: Flags.boolean({ summary: 'The pass is named by its externalPassId.' }),
}

interface PassReference {
  id: string
  external: boolean
}

/** @throws CliError where there is no such pass */
export async function getPass(client: Client, reference: PassReference): Promise<Pass> {
  if (!reference.external) return client.passes.get({ params: { id: checkPassId(reference.id) } })
  const { items } = await client.passes.list({ query: { externalPassId: reference.id, limit: 1 } })
  if (items[0]) return items[0]
  throw new CliError(`There is no pass with the external id ${reference.id}`, {
    code: 'PASS_NOT_FOUND',
    details: { externalPassId: reference.id },
    hint: 'passes pass list --search finds passes by a part of their id or label.',
  })
}

/** The id of the pass; asks the server only where it must. */
export async function getPassId(client: Client, reference: PassReference): Promise<string> {
  return reference.external ? (await getPass(client, reference)).id : checkPassId(reference.id)
}

function checkPassId(id: string): string {
  return checkId(id, 'pass', 'add --external to name a pass by its externalPassId.')
}
