import { Flags } from '@oclif/core'
import { subscribableEvents } from '../../core/events.ts'
import { namedArg } from '../arguments/id-argument.ts'
import { UsageError } from '../command/errors.ts'

export const webhookArgs = { id: namedArg('webhook') }

/** The events of an endpoint. */
export function eventFlag(summary: string) {
  return Flags.option({ options: subscribableEvents, multiple: true, multipleNonGreedy: true, delimiter: ',' })({
    summary,
    aliases: ['events'],
  })
}

/** What --forward-to names. @throws UsageError */
export function applicationAddress(address: string | undefined): string | undefined {
  if (address === undefined || (URL.canParse(address) && /^https?:/i.test(address))) return address
  throw new UsageError(`--forward-to ${address} is no http address`, {
    hint: 'write it like http://localhost:8080/hooks/passes.',
  })
}
