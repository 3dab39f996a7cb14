import type { Client } from '../../client/client.ts'
import type { Pass, PassCreate } from '../../core/contract/passes.ts'
import { CliError } from '../command/errors.ts'
import { changeTo, describeDifferences, type Standing, standingOf } from './compare.ts'
import type { Existing } from './outcomes.ts'

export interface CreatedPass {
  outcome: 'created' | 'updated' | Exclude<Standing, 'otherTemplate'>
  pass: Pass
}

/**
 * Creates a pass, and says whether it did.
 * @throws ApiError; CliError where the external id has another pass and `existing` does not allow that
 */
export async function createOne(
  client: Client,
  body: PassCreate,
  existing: Existing | undefined,
): Promise<CreatedPass> {
  let status = 0
  const onAnswer = (answer: { status: number }) => {
    status = answer.status
  }
  const pass = await client.passes.create({ body }, { onAnswer })
  if (status === 201) return { outcome: 'created', pass }
  const wanted = { ...body, names: Object.keys(body.variables) }
  const outcome = standingOf(pass, wanted) as CreatedPass['outcome']
  if (outcome === 'present' || existing === 'keep') return { outcome, pass }
  if (outcome === 'void') {
    throw new CliError(`${body.externalPassId} has a pass already, which is void and stays so`, {
      code: 'VOID',
      details: { passId: pass.id },
      hint: 'give the new pass another --external-id; --existing keep takes the void one.',
    })
  }
  if (existing === 'update') {
    const updated = await client.passes.update({ params: { id: pass.id }, body: changeTo(pass, wanted) })
    return { outcome: 'updated', pass: updated }
  }
  const differences = describeDifferences(pass, wanted, 'label')
  throw new CliError(`${body.externalPassId} has a pass already, and it differs: ${differences}`, {
    code: 'DIFFERS',
    details: { passId: pass.id, differences },
    hint: '--existing update changes it, --existing keep takes it as it is; another --external-id makes another pass.',
  })
}
