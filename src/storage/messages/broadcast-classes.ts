import type { DeliveryState } from '../../core/contract/messages/notifications.ts'
import { insertNew, Repository } from '../db/repository.ts'

/** A class of passes at a platform. A broadcast can send one message to a whole class. */
export interface BroadcastClass {
  broadcastId: string
  /** The identity of the class; null for the identity of the server. */
  identityId: string | null
  classSuffix: string
}

export interface ClassOutcome {
  status: Exclude<DeliveryState, 'PENDING'>
  error: string | null
}

/**
 * The result of `insertTurn`. `first`: reserved, and no attempt was made before. `again`: reserved, but an earlier
 * attempt might have succeeded. `busy`: not reserved, because another job is sending the message, or the message has an
 * outcome.
 */
export type ClassTurn = 'first' | 'again' | 'busy'

/** The messages of broadcasts to whole classes, with their reservations and outcomes. */
export class BroadcastClasses extends Repository {
  /** Returns the outcome of the message to a class; `undefined` while the message is pending. */
  async findOutcome(workspaceId: string, ofClass: BroadcastClass): Promise<ClassOutcome | undefined> {
    return this.row(workspaceId, ofClass).whereNot({ status: 'PENDING' }).first('status', 'error')
  }

  /** Returns up to `limit` distinct errors of the messages of a broadcast. */
  async listErrors(workspaceId: string, broadcastId: string, limit: number): Promise<string[]> {
    const ofBroadcast = this.db('broadcast_classes').where({ workspace_id: workspaceId, broadcast_id: broadcastId })
    return ofBroadcast.whereNotNull('error').distinct('error').orderBy('error').limit(limit).pluck('error')
  }

  /** Whether any broadcast sent or tried to send a message to a class of this name. */
  async hasMessages(workspaceId: string, classSuffix: string): Promise<boolean> {
    const row = this.db('broadcast_classes').where({ workspace_id: workspaceId, class_suffix: classSuffix })
    return (await row.first('status')) !== undefined
  }

  /**
   * Reserves the message of a class for the caller until the time `until`. After that time, another process can send
   * the message, for example if this process was killed.
   */
  async insertTurn(
    workspaceId: string,
    ofClass: BroadcastClass,
    { at, until }: { at: Date; until: Date },
  ): Promise<ClassTurn> {
    const sending = { sending_until: until.getTime() }
    const key = keyOf(ofClass)
    const row = { workspace_id: workspaceId, ...key, status: 'PENDING', ...sending }
    if (await insertNew(this.db, 'broadcast_classes', row, Object.keys(key))) return 'first'
    const free = this.row(workspaceId, ofClass).where({ status: 'PENDING' }).where('sending_until', '<=', at.getTime())
    return (await free.update(sending)) > 0 ? 'again' : 'busy'
  }

  /** Releases the reservation of a message after a failed attempt, so that another job can send the message. */
  async nack(workspaceId: string, ofClass: BroadcastClass): Promise<void> {
    await this.row(workspaceId, ofClass).where({ status: 'PENDING' }).update({ sending_until: 0 })
  }

  /** Records the outcome of the message to a class, unless an outcome is recorded already. */
  async settle(workspaceId: string, ofClass: BroadcastClass, outcome: ClassOutcome): Promise<void> {
    await this.row(workspaceId, ofClass).where({ status: 'PENDING' }).update(outcome)
  }

  private row(workspaceId: string, ofClass: BroadcastClass) {
    return this.db('broadcast_classes').where({ workspace_id: workspaceId, ...keyOf(ofClass) })
  }
}

function keyOf({ broadcastId, identityId, classSuffix }: BroadcastClass) {
  return { broadcast_id: broadcastId, identity: identityId ?? '', class_suffix: classSuffix }
}
