import type { Client } from '../../client/client.ts'
import { getPassId } from '../arguments/pass-argument.ts'

/** The ids of the passes that --pass names; undefined where it names none. */
export async function passIdsOf(
  client: Client,
  { pass, external }: { pass?: string[] | undefined; external: boolean },
): Promise<string[] | undefined> {
  return pass && Promise.all(pass.map((id) => getPassId(client, { id, external })))
}
