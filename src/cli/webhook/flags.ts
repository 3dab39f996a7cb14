import { Flags } from '@oclif/core'
import { subscribableEvents } from '../../core/events.ts'
import { namedArg } from '../arguments/id-argument.ts'

export const webhookArgs = { id: namedArg('webhook') }

/** The events of an endpoint. */
export function eventFlag(summary: string) {
  return Flags.option({ options: subscribableEvents, multiple: true, multipleNonGreedy: true })({ summary })
}
