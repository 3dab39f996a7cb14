import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '../../client/client.ts'
import { CliError } from '../command/errors.ts'
import { duration } from '../command/output.ts'
import type { DemoServer } from './program.ts'

const PATIENCE_SECONDS = 60

/** Waits for a pass to be issued, and returns its label. */
export async function untilIssued(passId: string, server: DemoServer): Promise<string> {
  const client = createClient(server)
  try {
    for (let waited = 0; waited < PATIENCE_SECONDS; waited += 0.1) {
      const pass = await client.passes.get({ params: { id: passId } })
      if (pass.status === 'ISSUED') return pass.label
      if (pass.status === 'FAILED') throw new CliError(`The pass of ${pass.label} failed`)
      await sleep(100)
    }
    throw new CliError(`The pass ${passId} is not issued after ${duration(PATIENCE_SECONDS)}`)
  } finally {
    await client.close()
  }
}
