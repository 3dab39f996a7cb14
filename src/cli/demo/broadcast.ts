import { join } from 'node:path'
import type { Broadcast, BroadcastStats } from '../../core/contract/broadcasts.ts'
import { CliError } from '../command/errors.ts'
import { deviceFor, phoneOf } from '../device/phones.ts'
import { type DemoServer, runCommand } from './program.ts'

const TEXT = 'Doors open at 8:30, keynote at 10.'

/** Installs one ticket on a virtual iPhone, notifies everybody, and looks at what the phone shows. */
export async function sendBroadcast(
  appleLink: string,
  projectId: string,
  folder: string,
  server: DemoServer,
): Promise<{ passCount: number; banner: string }> {
  const phone = phoneOf(deviceFor(join(folder, 'phones'), 'apple'))
  await phone.install(appleLink)
  const args = ['broadcast', 'send', projectId, '--message', TEXT, '--platform', 'apple', '--watch', '--yes']
  const { passCount, stats } = await runCommand<Broadcast & { stats: BroadcastStats }>(args, folder, server)
  const { changes } = await phone.check()
  const banner = changes.flatMap(({ banners }) => banners).find((text) => text.includes(TEXT))
  if (!banner || stats.sent !== 1) throw new CliError('The broadcast did not reach the phone that holds a ticket')
  return { passCount: passCount!, banner: TEXT }
}
