import type { Knex } from 'knex'
import type { DeliveryState } from '../../core/contract/notifications.ts'

/** A class at Google that a broadcast is sent to as a whole. */
export interface BroadcastClass {
  broadcastId: string
  /** Null is that of the server. */
  googleIdentityId: string | null
  classSuffix: string
}

/** What became of the message of a class. */
export interface ClassOutcome {
  status: Exclude<DeliveryState, 'PENDING'>
  error: string | null
}

/** Whether a class may be sent its message now: `first` where nobody tried, `again` where an earlier try may have taken effect. */
export type ClassTurn = 'first' | 'again' | 'busy'

/** The messages of broadcasts to whole classes: who sends each, and what became of it. */
export class BroadcastClasses {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  /** What became of the message; undefined where that is still open. */
  async findOutcome(workspaceId: string, ofClass: BroadcastClass): Promise<ClassOutcome | undefined> {
    return this.row(workspaceId, ofClass).whereNot({ status: 'PENDING' }).first('status', 'error')
  }

  /** Why classes of a broadcast were not given its message, each reason once, and at most so many. */
  async listErrors(workspaceId: string, broadcastId: string, limit: number): Promise<string[]> {
    const ofBroadcast = this.db('broadcast_classes').where({ workspace_id: workspaceId, broadcast_id: broadcastId })
    return ofBroadcast.whereNotNull('error').distinct('error').orderBy('error').limit(limit).pluck('error')
  }

  /** Whether a broadcast was ever sent to a class of this name as a whole. */
  async isTold(workspaceId: string, classSuffix: string): Promise<boolean> {
    const row = this.db('broadcast_classes').where({ workspace_id: workspaceId, class_suffix: classSuffix })
    return (await row.first('status')) !== undefined
  }

  /** Takes the sending of the message for a while; what a killed process left open is free after that. */
  async insertTurn(
    workspaceId: string,
    ofClass: BroadcastClass,
    { at, until }: { at: Date; until: Date },
  ): Promise<ClassTurn> {
    const sending = { sending_until: until.getTime() }
    const made = await this.db('broadcast_classes')
      .insert({ workspace_id: workspaceId, ...keyOf(ofClass), status: 'PENDING', ...sending })
      .onConflict(['broadcast_id', 'identity', 'class_suffix'])
      .ignore()
      .returning('status')
    if (made.length > 0) return 'first'
    const free = this.row(workspaceId, ofClass).where({ status: 'PENDING' }).where('sending_until', '<=', at.getTime())
    return (await free.update(sending)) > 0 ? 'again' : 'busy'
  }

  /** The message was not taken this time; whoever comes next tries. */
  async nack(workspaceId: string, ofClass: BroadcastClass): Promise<void> {
    await this.row(workspaceId, ofClass).where({ status: 'PENDING' }).update({ sending_until: 0 })
  }

  /** Notes what became of the message. What is known already stays. */
  async settle(workspaceId: string, ofClass: BroadcastClass, outcome: ClassOutcome): Promise<void> {
    await this.row(workspaceId, ofClass).where({ status: 'PENDING' }).update(outcome)
  }

  private row(workspaceId: string, ofClass: BroadcastClass) {
    return this.db('broadcast_classes').where({ workspace_id: workspaceId, ...keyOf(ofClass) })
  }
}

function keyOf({ broadcastId, googleIdentityId, classSuffix }: BroadcastClass) {
  return { broadcast_id: broadcastId, identity: googleIdentityId ?? '', class_suffix: classSuffix }
}
