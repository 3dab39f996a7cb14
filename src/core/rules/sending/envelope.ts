import type { Envelope } from '../../contract/deliveries.ts'

/**
 * What is sent to an endpoint (spec 6), put together from parts that never change: every attempt sends the same bytes.
 * @param data the event's data as JSON, taken over as it stands
 */
export function envelopeText({ id, type, timestamp, correlationId }: Omit<Envelope, 'data'>, data: string): string {
  const head = JSON.stringify({ id, type, timestamp, correlationId })
  return `${head.slice(0, -1)},"data":${data}}`
}
