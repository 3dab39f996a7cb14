import type { Door } from '../../core/contract/scans/doors.ts'
import type { DoorEngine } from './engine.ts'
import { type EngineContext, gateFailure, movementOf, propertiesOf, type Reply } from './server.ts'
import type { Identity } from './store/engine-store.ts'

/** The part of an engine that manages the gate, the zone, and the direction of this door. */
export interface OwnDoor extends Pick<DoorEngine, 'moveTo' | 'setMovement'> {
  /** Sends a zone or direction that the server does not have, and then reads this door and its zone. */
  sync(signal: AbortSignal): Promise<Reply<unknown>>
  /**
   * Handles the deletion of a zone. An entrance continues without a zone. An exit keeps the zone, and evaluates no
   * scans, because an exit without a zone would admit people.
   */
  endZone(zoneId: string): Promise<void>
  /** Ends the notice about the deleted zone of an entrance. */
  forgetDeletedZone(): Promise<void>
}

export function createOwnDoor(
  { server, identity, store, clock, environment, connection, refresh }: EngineContext,
  /** Stores the identity of this door, which includes its token. */
  keep: (identity: Identity) => Promise<void>,
): OwnDoor {
  const { storesMovement } = environment.settings
  const ownZone = () => identity()?.door.movement?.zoneId

  /**
   * Stores the properties of this door from a response. Keeps the stored zone and direction if the server does not have
   * them yet, or never stores them.
   */
  async function learn(door: Door): Promise<void> {
    const known = identity()
    if (known?.door.id !== door.id) return
    const isOwn = !storesMovement || known.isMovementUnsent
    const learned = propertiesOf(door, isOwn ? known.door.movement : movementOf(door))
    if (JSON.stringify(known.door) !== JSON.stringify(learned)) await keep({ ...known, door: learned })
  }

  async function sendMovement(signal: AbortSignal): Promise<Reply<unknown> | undefined> {
    const known = identity()
    if (!known?.isMovementUnsent) return undefined
    const { id, movement } = known.door
    const reply = await server.updateDoor(id, movement ?? { zoneId: null }, signal)
    const now = identity()
    const isCurrent = now?.token === known.token && now.door.movement === movement
    // If the server rejects the movement of an entrance, for example because the zone was deleted, use the server's
    // zone and direction. Never do this for an exit, because the server's direction could turn it into an entrance.
    const isEnded = reply.kind === 'answer' || (reply.kind === 'rejection' && movement?.direction !== 'out')
    if (isEnded && isCurrent) await keep({ ...now, isMovementUnsent: undefined })
    return reply
  }

  async function readZone(zoneId: string | undefined, signal: AbortSignal): Promise<void> {
    if (zoneId === undefined) return
    const { zones: seen } = await store().summary()
    const reply = await server.zone(zoneId, signal)
    if (reply.kind === 'answer') {
      await store().learnZones([reply.value], { at: clock.now().toISOString(), seen })
      refresh()
    }
    if (reply.kind === 'rejection' && reply.status === 404) await endZone(zoneId)
  }

  async function endZone(zoneId: string): Promise<void> {
    const { zones } = await store().summary()
    const now = identity()
    if (!now || now.deletedExit === zoneId) return
    const isOwn = ownZone() === zoneId
    if (isOwn && now.door.movement?.direction === 'out') return keep({ ...now, deletedExit: zoneId })
    const deletedZone = zones.find(({ id }) => id === zoneId)?.name ?? '–'
    // If a user chose another zone in the meantime, keep that choice, which the server may not have yet.
    const left = isOwn ? { token: now.token, door: { ...now.door, movement: undefined } } : now
    await keep({ ...left, deletedZone })
  }

  return {
    async sync(signal) {
      const before = ownZone()
      const sent = await sendMovement(signal)
      if (sent?.kind === 'timeout') return sent
      const reply = await server.self(signal)
      if (reply.kind !== 'answer') return reply
      if (reply.value) await learn(reply.value)
      // Also read the previous zone. If the server removed this zone from the door because the zone was deleted, the
      // read gets a 404, and the deletion is reported.
      if (before !== ownZone()) await readZone(before, signal)
      await readZone(ownZone(), signal)
      return reply
    },
    endZone,
    async forgetDeletedZone() {
      const known = identity()
      if (known?.deletedZone !== undefined) await keep({ ...known, deletedZone: undefined })
    },
    async moveTo(gate) {
      const reply = await server.updateDoor(identity()?.door.id ?? '', { gate })
      if (reply.kind !== 'answer') return gateFailure(reply)
      await learn(reply.value)
      return null
    },
    async setMovement(movement) {
      const known = identity()
      // In a deleted zone, ignore a new direction: the exit is blocked until the operator chooses another zone or none.
      if (!known || (movement && movement.zoneId === known.deletedExit)) return
      const door = { ...known.door, movement: movement ?? undefined }
      await keep({ token: known.token, door, ...(storesMovement && { isMovementUnsent: true }) })
      // Send the zone and direction now, because the server does not have them yet.
      connection()?.retry()
    },
  }
}
