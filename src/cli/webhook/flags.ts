import { Args, Flags } from '@oclif/core'
import { subscribableEvents } from '../../core/events.ts'

export const webhookArgs = { id: Args.string({ description: 'Id of the webhook.', required: true }) }

/** The events of an endpoint. */
export function eventFlag(summary: string) {
  return Flags.option({ options: subscribableEvents, multiple: true, multipleNonGreedy: true })({ summary })
}
