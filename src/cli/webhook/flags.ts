import { Flags } from '@oclif/core'
import { subscribableEvents } from '../../core/events.ts'
import { idArg } from '../arguments/id-argument.ts'

export const webhookArgs = { id: idArg('webhook') }

/** The events of an endpoint. */
export function eventFlag(summary: string) {
  return Flags.option({ options: subscribableEvents, multiple: true, multipleNonGreedy: true })({ summary })
}
