import type { Door } from '../../core/contract/doors.ts'
import type { DoorEngine } from './engine.ts'
import { type EngineContext, movementOf, type Reply } from './server.ts'
import type { Identity } from './store/engine-store.ts'

/** The part of an engine that manages the gate, the zone, and the direction of this door. */
export interface OwnDoor extends Pick<DoorEngine, 'moveTo' | 'setMovement'> {
  /** Sends a zone or direction that the server does not have, and then reads this door and its zone. */
  sync(signal: AbortSignal): Promise<Reply<unknown>>
}

interface OwnDoorOptions {
  /** Stores the identity. */
  keep: (identity: Identity) => Promise<void>
  /** Called if the server does not have the zone and direction yet. */
  onUnsent: () => void
  /** Called when the number inside the zone was read. */
  onZone: () => void
}

export function createOwnDoor(
  { server, identity, store, clock, environment }: EngineContext,
  { keep, onUnsent, onZone }: OwnDoorOptions,
): OwnDoor {
  const { storesMovement } = environment.settings

  /** Stores the server's properties of this door. */
  async function learn(door: Door): Promise<void> {
    const known = identity()
    if (known?.door.id !== door.id) return
    const { id, name, gate, projectId, projectName } = door
    const isOwn = !storesMovement || known.isMovementUnsent
    const movement = isOwn ? known.door.movement : movementOf(door)
    const learned = { id, name, gate, projectId, projectName, ...(movement && { movement }) }
    if (JSON.stringify(known.door) !== JSON.stringify(learned)) await keep({ ...known, door: learned })
  }

  async function sendMovement(signal: AbortSignal): Promise<Reply<unknown> | undefined> {
    const known = identity()
    if (!known?.isMovementUnsent) return undefined
    const { id, movement } = known.door
    const reply = await server.updateDoor(id, movement ?? { zoneId: null }, signal)
    const now = identity()
    const isCurrent = now?.token === known.token && now.door.movement === movement
    // Treat the movement as sent even if the server rejects it, for example because the zone was deleted: in that case,
    // the zone and direction of the server apply.
    if (reply.kind !== 'timeout' && isCurrent) await keep({ token: now.token, door: now.door })
    return reply
  }

  async function readZone(signal: AbortSignal): Promise<void> {
    const known = identity()
    const movement = known?.door.movement
    if (!movement) return
    const reply = await server.zone(movement.zoneId, signal)
    if (reply.kind === 'answer') {
      await store().learnZones([reply.value], { at: clock.now().toISOString(), areAll: false })
      onZone()
    }
    const now = identity()
    const isGone = reply.kind === 'rejection' && reply.status === 404
    if (isGone && now && now.door.movement === movement) {
      await keep({ token: now.token, door: { ...now.door, movement: undefined } })
    }
  }

  return {
    async sync(signal) {
      const sent = await sendMovement(signal)
      if (sent?.kind === 'timeout') return sent
      const reply = await server.self(signal)
      if (reply.kind !== 'answer') return reply
      if (reply.value) await learn(reply.value)
      await readZone(signal)
      return reply
    },
    async moveTo(gate) {
      const reply = await server.updateDoor(identity()?.door.id ?? '', { gate })
      if (reply.kind === 'timeout') return { code: 'no_answer', message: 'No response from the server.' }
      if (reply.kind === 'rejection') return { code: 'refused', message: reply.message }
      await learn(reply.value)
      return null
    },
    async setMovement(movement) {
      const known = identity()
      if (!known) return
      const door = { ...known.door, movement: movement ?? undefined }
      await keep({ token: known.token, door, ...(storesMovement && { isMovementUnsent: true }) })
      onUnsent()
    },
  }
}
