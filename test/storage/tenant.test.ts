import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Platform } from '../../src/core/contract/schemas/platform.ts'
import { newId } from '../../src/core/ids.ts'
import { identifierDigest } from '../../src/core/rules/crypto/scan-code.ts'
import { defaultLimits } from '../../src/core/rules/pass/workspace-limits.ts'
import { planRedemption } from '../../src/core/rules/redemption/redemption-plan.ts'
import type { StoredEntry } from '../../src/storage/balances/balance-entries-repository.ts'
import type { Database } from '../../src/storage/db/database.ts'
import { isPostgres, rowsOf } from '../../src/storage/db/dialect.ts'
import { PLACE_BEFORE_ALL } from '../../src/storage/db/positions.ts'
import type { StoredSnapshot } from '../../src/storage/scans/snapshots.ts'
import { createStore, type Repositories, type Store } from '../../src/storage/store.ts'
import type { StoredDelivery } from '../../src/storage/webhooks/delivery-row.ts'
import type { StoredZone } from '../../src/storage/zones/zones-repository.ts'
import { dialects } from '../support/databases.ts'
import {
  acceptedScan,
  definition,
  insertPasses,
  insertTemplate,
  insertWorkspace,
  later,
  newPass,
  openTestStore,
  sentObject,
  start,
} from './fixtures.ts'

/** The address of a member, who has a session. */
const EMAIL = 'anna@example.com'
const byName = { limit: 20, sortBy: 'name', sortDir: 'asc' } as const
const imageId = '0b5f2c3e-1111-8222-8333-444455556666'
/** An ID after all others. */
const PLACE = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Calls each method that takes a workspace and finds rows, with IDs of rows in another workspace. */
const calls: Record<string, (tx: Repositories, intruder: string, ids: Ids) => Promise<unknown>> = {
  'tokens.list': (tx, intruder) => tx.tokens.list(intruder),
  'tokens.findForUpdate': (tx, intruder, { token }) => tx.tokens.findForUpdate(intruder, token),
  'tokens.setReplaced': (tx, intruder, { token }) =>
    tx.tokens.setReplaced(intruder, token, { by: token, expiresAt: later(1) }),
  'tokens.revoke': (tx, intruder, { token }) => tx.tokens.revoke(intruder, token, later(1)),
  'tokens.setLastUsed': (tx, intruder, { token }) => tx.tokens.setLastUsed(intruder, token, later(1)),
  'members.remove': (tx, intruder) => tx.members.remove(intruder, EMAIL),
  'members.list': (tx, intruder) => tx.members.list(intruder),
  'sessions.setLastUsed': (tx, intruder, { session }) => tx.sessions.setLastUsed(intruder, session, later(1)),
  'sessions.list': (tx, intruder) => tx.sessions.list(intruder, start),
  'sessions.end': (tx, intruder, { session }) => tx.sessions.end(intruder, session),
  'sessions.endOfEmail': (tx, intruder) => tx.sessions.endOfEmail(intruder, EMAIL),
  'doors.endInvitation': (tx, intruder, { invitation }) => tx.doors.endInvitation(intruder, invitation),
  'doors.counts': (tx, intruder, { project }) => tx.doors.counts(intruder, project, start),
  'doors.find': (tx, intruder, { token }) => tx.doors.find(intruder, token),
  'doors.list': (tx, intruder) => tx.doors.list(intruder, newest),
  'doors.update': (tx, intruder, { token }) => tx.doors.update(intruder, token, { name: 'x', gate: 'x' }),
  'doors.revoke': (tx, intruder, { token }) => tx.doors.revoke(intruder, token, later(1)),
  'doors.endProject': (tx, intruder, { project }) => tx.doors.endProject(intruder, project, later(1)),
  'doors.setSeen': (tx, intruder, { token }) =>
    tx.doors.setSeen(intruder, [{ doorId: token, at: later(1), version: '9', pendingScans: 9 }]),
  'identities.list': (tx, intruder) => tx.identities.list(intruder, byName),
  'identities.findGranted': (tx, intruder, { identity }) => tx.identities.findGranted(intruder, identity),
  'identities.retireGrant': (tx, intruder, { identity }) => tx.identities.retireGrant(intruder, identity),
  'identities.findDefaults': (tx, intruder, { project }) => tx.identities.findDefaults(intruder, project),
  'googleClasses.findIssuer': (tx, intruder, { googleClass }) => tx.googleClasses.findIssuer(intruder, googleClass),
  'projects.find': (tx, intruder, { project }) => tx.projects.find(intruder, project),
  'projects.listIdsByName': (tx, intruder) => tx.projects.listIdsByName(intruder, 'Tour'),
  'projects.findForUpdate': (tx, intruder, { project }) => tx.projects.findForUpdate(intruder, project),
  'projects.list': (tx, intruder) => tx.projects.list(intruder, byName),
  'projects.update': (tx, intruder, { project }) => tx.projects.update(intruder, project, { name: 'x' }, later(1)),
  'projects.delete': (tx, intruder, { project }) => tx.projects.delete(intruder, project),
  'projects.counts': (tx, intruder, { project }) => tx.projects.counts(intruder, project, start),
  'templates.find': (tx, intruder, { template }) => tx.templates.find(intruder, template),
  'templates.findForUpdate': (tx, intruder, { template }) => tx.templates.findForUpdate(intruder, template),
  'templates.list': (tx, intruder) => tx.templates.list(intruder, byName),
  'templates.update': (tx, intruder, { template }) => tx.templates.update(intruder, template, { name: 'x' }, later(1)),
  'templates.delete': (tx, intruder, { template }) => tx.templates.delete(intruder, template, later(1)),
  'templates.takeVersionNumber': (tx, intruder, { template }) => tx.templates.takeVersionNumber(intruder, template),
  'templates.setPublished': (tx, intruder, { template, version }) =>
    tx.templates.setPublished(intruder, template, { id: version, version: 9 }, later(1)),
  'rejections.list': (tx, intruder, { pass }) => tx.rejections.list(intruder, [pass]),
  'rejections.clear': (tx, intruder, { pass }) => tx.rejections.clear(intruder, 'google', pass),
  'templateVersions.find': (tx, intruder, { version }) => tx.templateVersions.find(intruder, version),
  'templateVersions.findForUpdate': (tx, intruder, { version }) => tx.templateVersions.findForUpdate(intruder, version),
  'templateVersions.findNewest': (tx, intruder, { template }) => tx.templateVersions.findNewest(intruder, template),
  'templateVersions.list': (tx, intruder, { template }) => tx.templateVersions.list(intruder, template),
  'templateVersions.setDefinition': (tx, intruder, { version }) =>
    tx.templateVersions.setDefinition(intruder, version, { ...definition, photo: 'x' }, later(1)),
  'templateVersions.setPublished': (tx, intruder, { version }) =>
    tx.templateVersions.setPublished(intruder, version, later(1)),
  'templateVersions.delete': (tx, intruder, { version }) => tx.templateVersions.delete(intruder, version),
  'templateVersions.listNewestPublished': (tx, intruder, { template }) =>
    tx.templateVersions.listNewestPublished(intruder, [template]),
  'templateVersions.listByIds': (tx, intruder, { version }) => tx.templateVersions.listByIds(intruder, [version]),
  'templateVersions.listPublishedBefore': (tx, intruder, { template }) =>
    tx.templateVersions.listPublishedBefore(intruder, template, 9),
  'templateVersions.listOverrides': async (tx, intruder, { version }) => [
    ...(await tx.templateVersions.listOverrides(intruder, [version], 'google')),
  ],
  'templateVersions.listLanguagesOfProject': (tx, intruder, { project }) =>
    tx.templateVersions.listLanguagesOfProject(intruder, project),
  'templateVersions.findPublished': (tx, intruder, { template }) =>
    tx.templateVersions.findPublished(intruder, template, 1),
  'upgrades.find': (tx, intruder, { template, upgrade }) => tx.upgrades.find(intruder, template, upgrade),
  'upgrades.findById': (tx, intruder, { upgrade }) => tx.upgrades.findById(intruder, upgrade),
  'upgrades.findForUpdate': (tx, intruder, { upgrade }) => tx.upgrades.findForUpdate(intruder, upgrade),
  'upgrades.findRunning': (tx, intruder, { template }) => tx.upgrades.findRunning(intruder, template),
  'upgrades.list': (tx, intruder, { template }) => tx.upgrades.list(intruder, template, { limit: 20 }),
  'upgrades.listFailures': (tx, intruder, { upgrade }) => tx.upgrades.listFailures(intruder, [upgrade]),
  'upgrades.countPending': (tx, intruder) => tx.upgrades.countPending(intruder),
  'upgrades.count': (tx, intruder, ids) => tx.upgrades.count(intruder, theirUpgrade(ids), later(2)),
  'upgrades.listNext': async (tx, intruder, ids) =>
    (await tx.upgrades.listNext(intruder, theirUpgrade(ids), { rows: 9, limit: 9, at: later(2) })).passes,
  'upgrades.lockPasses': async (tx, intruder, { pass }) => [...(await tx.upgrades.lockPasses(intruder, [pass]))],
  'upgrades.setMatched': (tx, intruder, { upgrade }) => tx.upgrades.setMatched(intruder, upgrade, 9, later(1)),
  'upgrades.advance': (tx, intruder, ids) =>
    tx.upgrades.advance(
      intruder,
      theirUpgrade(ids),
      { position: null, upgraded: 1, unchanged: 1, failures: [], isLast: true },
      later(1),
    ),
  'upgrades.cancel': (tx, intruder, { upgrade }) => tx.upgrades.cancel(intruder, upgrade, later(1)),
  'upgrades.cancelOfTemplate': (tx, intruder, { template }) =>
    tx.upgrades.cancelOfTemplate(intruder, template, later(1)),
  'upgrades.writePasses': (tx, intruder, { pass, version }) =>
    tx.upgrades.writePasses(
      intruder,
      [{ ...change, id: pass, templateVersionId: version, templateVersion: 9 }],
      later(1),
    ),
  'joinPages.find': (tx, intruder, { template }) => tx.joinPages.find(intruder, template),
  'joinPages.set': (tx, intruder, { template }) =>
    tx.joinPages.set(intruder, template, { ...theirPage, slug: 'mine' }, later(1)),
  'joinPages.delete': (tx, intruder, { template }) => tx.joinPages.delete(intruder, template),
  'joinPages.take': (tx, intruder, { template }) => tx.joinPages.take(intruder, template),
  'joinPages.release': (tx, intruder, { template }) => tx.joinPages.release(intruder, template),
  'joinPages.existsInProject': (tx, intruder, { project }) => tx.joinPages.existsInProject(intruder, project),
  'joinSubmissions.find': (tx, intruder, { submission }) => tx.joinSubmissions.find(intruder, submission),
  'joinSubmissions.removePlace': (tx, intruder, { submission }) => tx.joinSubmissions.removePlace(intruder, submission),
  'joinSubmissions.delete': (tx, intruder, { submission }) => tx.joinSubmissions.delete(intruder, submission),
  'joinIdentities.takeMail': (tx, intruder, { template: templateId }) =>
    tx.joinIdentities.takeMail(intruder, { templateId, digest: 'theirs', language: 'de' }, later(1)),
  'joinIdentities.findByPass': (tx, intruder, { pass }) => tx.joinIdentities.findByPass(intruder, pass),
  'joinIdentities.setDigest': (tx, intruder, { pass }) => tx.joinIdentities.setDigest(intruder, pass, 'mine'),
  'joinIdentities.deleteOfPass': (tx, intruder, { pass }) => tx.joinIdentities.deleteOfPass(intruder, pass),
  'images.find': (tx, intruder) => tx.images.find(intruder, imageId),
  'images.listKnown': (tx, intruder) => tx.images.listKnown(intruder, [imageId]),
  'images.lockKnown': (tx, intruder) => tx.images.lockKnown(intruder, [imageId]),
  'images.deleteOfPass': (tx, intruder, { pass }) => tx.images.deleteOfPass(intruder, pass),
  'images.listFileOfEach': (tx, intruder) => tx.images.listFileOfEach(intruder, [imageId], 'x'),
  'images.list': (tx, intruder) => tx.images.list(intruder, [imageId]),
  // The intruder has no row, so it gets the defaults.
  'limits.find': async (tx, intruder) => (await tx.limits.find(intruder)).webhooks - defaultLimits.webhooks,
  'limits.set': (tx, intruder) => tx.limits.set(intruder, { passes: 1 }),
  'usage.lock': (tx, intruder) => tx.usage.lock(intruder),
  'usage.findStored': (tx, intruder) => tx.usage.findStored(intruder),
  'usage.countWebhooks': (tx, intruder) => tx.usage.countWebhooks(intruder),
  'usage.countDrafts': (tx, intruder, { template }) => tx.usage.countDrafts(intruder, template),
  'usage.countScheduled': (tx, intruder) => tx.usage.countScheduled(intruder, start),
  'usage.countWaitingJobs': (tx, intruder) => tx.usage.countWaitingJobs(intruder, 10),
  'usage.read': (tx, intruder) => tx.usage.read(intruder, start),
  'passes.find': (tx, intruder, { pass }) => tx.passes.find(intruder, pass),
  'passes.findLinked': (tx, intruder, { pass }) => tx.passes.findLinked(intruder, pass),
  'passes.findForUpdate': (tx, intruder, { pass }) => tx.passes.findForUpdate(intruder, pass),
  'passes.listForUpdate': (tx, intruder, { pass }) => tx.passes.listForUpdate(intruder, [pass]),
  'passes.lockShown': (tx, intruder, { pass }) => tx.passes.lockShown(intruder, pass),
  'passes.list': (tx, intruder) => tx.passes.list(intruder, { ...byName, sortBy: 'label' }, start),
  'passes.listByIds': (tx, intruder, { pass }) => tx.passes.listByIds(intruder, [pass]),
  'passes.listByExternalIds': (tx, intruder) => tx.passes.listByExternalIds(intruder, ['theirs']),
  'passes.update': (tx, intruder, { pass, version }) =>
    tx.passes.update(intruder, pass, { ...change, templateVersionId: version, templateVersion: 1 }, later(1)),
  'passes.setVoid': (tx, intruder, { pass }) => tx.passes.setVoid(intruder, [pass], later(1)),
  'passes.raiseLinkGeneration': (tx, intruder, { pass }) => tx.passes.raiseLinkGeneration(intruder, pass, later(1)),
  'passes.setQueuedAgain': (tx, intruder, { failed }) => tx.passes.setQueuedAgain(intruder, [failed], later(1)),
  'passes.lockUnsigned': (tx, intruder) => tx.passes.lockUnsigned(intruder, undefined, 10),
  'passes.lockUnissued': (tx, intruder, { pass }) => tx.passes.lockUnissued(intruder, [pass]),
  'passes.setIssued': (tx, intruder, { pass }) => tx.passes.setIssued(intruder, [pass], later(1)),
  'passes.setRejected': (tx, intruder, { pass }) =>
    tx.passes.setRejected(intruder, pass, { code: 'PASS_ISSUING_FAILED', message: 'x' }, later(1)),
  'passes.setFailed': (tx, intruder, { pass }) =>
    tx.passes.setFailed(intruder, pass, { code: 'PASS_ISSUING_FAILED', message: 'x' }, later(1)),
  'passes.detachFromProject': (tx, intruder, { project }) =>
    tx.passes.detachFromProject(intruder, project, 10, later(1)),
  'passes.setJoinInstalled': (tx, intruder, { pass }) => tx.passes.setJoinInstalled(intruder, [pass], later(1)),
  'passes.lockIssued': (tx, intruder, { pass }) => tx.passes.lockIssued(intruder, [pass], later(1)),
  'passes.setMessages': (tx, intruder, { pass, notification }) =>
    tx.passes.setMessages(intruder, [pass], [notification], later(1)),
  'registrations.list': (tx, intruder, { pass }) => tx.registrations.list(intruder, [pass]),
  'registrations.isFull': (tx, intruder, { pass }) => tx.registrations.isFull(intruder, pass, 1),
  'registrations.has': (tx, intruder, { pass }) => tx.registrations.has(intruder, pass, 'device'),
  'deviceLists.countPasses': (tx, intruder) => tx.deviceLists.countPasses(intruder, ['device']),
  'registrations.delete': (tx, intruder, { pass }) => tx.registrations.delete(intruder, pass, 'device'),
  'registrations.forgetPush': (tx, intruder, { pass }) => tx.registrations.forgetPush(intruder, pass, 'device', 9),
  'registrations.isFetched': (tx, intruder, { pass }) => tx.registrations.isFetched(intruder, pass, 0),
  'registrations.setFetched': (tx, intruder, { pass }) => tx.registrations.setFetched(intruder, pass, 9, later(1)),
  'registrations.setPushed': (tx, intruder, { pass }) =>
    tx.registrations.setPushed(
      intruder,
      [{ passId: pass, deviceId: 'device', pushedVersion: 0, version: 9 }],
      later(1),
    ),
  'registrations.setErrors': (tx, intruder, { pass }) =>
    tx.registrations.setErrors(intruder, [{ passId: pass, deviceId: 'device' }], 'x'),
  'registrations.listOutdated': (tx, intruder, { pass }) => tx.registrations.listOutdated(intruder, [pass]),
  'registrations.bumpUpdateTag': (tx, intruder, { pass }) => tx.registrations.bumpUpdateTag(intruder, [pass]),
  'heldPasses.findHolders': async (tx, intruder, { pass }) =>
    Object.values(await tx.heldPasses.findHolders(intruder, [pass])).flat(),
  'heldPasses.findInstalled': async (tx, intruder, { pass }) =>
    Object.values(await tx.heldPasses.findInstalled(intruder, [pass])).flat(),
  'heldPasses.keepCurrent': async (tx, intruder, { pass }) =>
    Object.values(await tx.heldPasses.keepCurrent(intruder, [pass])).flat(),
  'heldPasses.countDevices': (tx, intruder, { pass }) => tx.heldPasses.countDevices(intruder, [pass]),
  'figures.sums': async (tx, intruder, { project }) => [
    ...(await tx.figures.sums(intruder, project, { from: 0, until: 1_000_000 }, [0])),
  ],
  'figures.recountScans': (tx, intruder, { project }) => tx.figures.recountScans(intruder, project),
  'figures.deleteOfProject': (tx, intruder, { project }) => tx.figures.deleteOfProject(intruder, project),
  'wallets.list': (tx, intruder) => tx.wallets.list(intruder, {}, { limit: 20 }),
  'wallets.counts': (tx, intruder) => tx.wallets.counts(intruder, undefined, later(60)),
  'deviceLogs.list': (tx, intruder) => tx.deviceLogs.list(intruder, { limit: 20 }),
  'nudges.forgetDue': (tx, intruder) =>
    tx.nudges.forgetDue(intruder, { at: later(9e5), pushedBefore: later(9e5), limit: 20 }),
  'wallets.listSilent': (tx, intruder) =>
    tx.wallets.listSilent(intruder, undefined, { pushedBefore: later(60), limit: 20 }),
  'wallets.forgetPushes': async (tx, intruder, { pass }) => {
    const { passIds } = await tx.wallets.forgetPushes(intruder, [{ passId: pass, deviceId: 'device' }], later(60))
    return passIds
  },
  'heldPasses.settle': (tx, intruder, { pass }) => tx.heldPasses.settle(intruder, [pass]),
  'backlog.holdBack': (tx, intruder) =>
    tx.backlog.holdBack(
      intruder,
      { kind: 'update-apple', platform: 'apple', identityId: null },
      { at: later(60), until: later(90) },
    ),
  'handOver.count': (tx, intruder) => tx.handOver.count(intruder, { until: PLACE }),
  'handOver.listVariables': (tx, intruder) =>
    tx.handOver.listVariables(intruder, { until: PLACE }, { after: undefined, limit: 9 }),
  'handOver.list': (tx, intruder) => tx.handOver.list(intruder, { until: PLACE }, { after: undefined, limit: 9 }),
  'handOver.listNamed': (tx, intruder, { template }) => tx.handOver.listNamed(intruder, 'templates', template),
  'backlog.bringForward': (tx, intruder) =>
    tx.backlog.bringForward(
      intruder,
      { kind: 'update-apple', platform: 'apple', identityId: null },
      { at: later(-60), until: later(90) },
    ),
  'moves.find': (tx, intruder) => tx.moves.find(intruder),
  'moves.setPace': (tx, intruder) => tx.moves.setPace(intruder, 9),
  'moves.delete': (tx, intruder) => tx.moves.delete(intruder),
  'moves.take': (tx, intruder) => tx.moves.take(intruder, later(9)),
  'moves.findProgress': (tx, intruder, { pass }) =>
    tx.moves.findProgress(intruder, { id: pass, startedAt: new Date() }),
  'moves.listSamples': (tx, intruder) => tx.moves.listSamples(intruder, 10),
  'importedPasses.listDigests': (tx, intruder) => tx.importedPasses.listDigests(intruder, ['imported']),
  'formerPasses.isFull': (tx, intruder, { former }) => tx.formerPasses.isFull(intruder, former, 1),
  'formerPasses.has': (tx, intruder, { former }) => tx.formerPasses.has(intruder, former, 'device'),
  'formerPasses.register': (tx, intruder, { former }) => tx.formerPasses.register(intruder, former, 'device', 'stolen'),
  'formerPasses.unregister': (tx, intruder, { former }) => tx.formerPasses.unregister(intruder, former, 'device'),
  'formerPasses.bumpUpdateTag': (tx, intruder, { failed }) => tx.formerPasses.bumpUpdateTag(intruder, [failed]),
  'formerPasses.listOutdated': (tx, intruder, { failed }) => tx.formerPasses.listOutdated(intruder, [failed]),
  'formerPasses.setPushed': (tx, intruder, { failed }) =>
    tx.formerPasses.setPushed(intruder, [{ passId: failed, pushToken: 'token' }]),
  'identifiers.listPassIds': async (tx, intruder) => (await tx.identifiers.listPassIds(intruder, [{ digest }]))[0],
  'scans.find': (tx, intruder, { scan }) => tx.scans.find(intruder, scan),
  'scans.listByExternalRefs': (tx, intruder) => tx.scans.listByExternalRefs(intruder, ['theirs']),
  'scans.list': (tx, intruder) => tx.scans.list(intruder, { limit: 20 }),
  'scanStats.counts': (tx, intruder) => tx.scanStats.counts(intruder, {}),
  'scanStats.countsByGate': (tx, intruder) => tx.scanStats.countsByGate(intruder, {}, 9),
  'scanStats.countsByTime': async (tx, intruder) => {
    const [bucket] = await tx.scanStats.countsByTime(intruder, {}, [0])
    return bucket!.totalScans
  },
  'replays.countAttempts': (tx, intruder, { project }) => tx.replays.countAttempts(intruder, replayOf(project), 9),
  'replays.listPasses': (tx, intruder, { project }) =>
    tx.replays.listPasses(intruder, replayOf(project), { after: undefined, limit: 9 }),
  'replays.listEntries': (tx, intruder, { pass }) => tx.replays.listEntries(intruder, [pass], { limit: 9 }),
  'auditLog.findBatch': (tx, intruder) => tx.auditLog.findBatch(intruder, start),
  'acceptedScans.isCounted': (tx, intruder, { scan }) => tx.acceptedScans.isCounted(intruder, scan),
  'acceptedScans.delete': (tx, intruder, { scan }) => tx.acceptedScans.delete(intruder, scan),
  'acceptedScans.findHistory': (tx, intruder, { pass }) => tx.acceptedScans.findHistory(intruder, pass, plan),
  'acceptedScans.listCounts': (tx, intruder, { pass }) => tx.acceptedScans.listCounts(intruder, [pass], null),
  'acceptedScans.listHistories': async (tx, intruder, { pass }) =>
    (await tx.acceptedScans.listHistories(intruder, [{ passId: pass, ...plan, digest }]))[0]!.history,
  'acceptedScans.listRangeCounts': async (tx, intruder, { pass }) =>
    (await tx.acceptedScans.listRangeCounts(intruder, [{ passId: pass, plan }]))[0],
  'acceptedScans.listPlaces': async (tx, intruder, { pass }) =>
    (await tx.acceptedScans.listPlaces(intruder, [{ passId: pass, at: start }]))[0],
  'passes.setBalanceSums': (tx, intruder, { pass }) =>
    tx.passes.setBalanceSums(intruder, [{ passId: pass, sums: { points: { sum: 9, count: 1, at: 1 } } }], later(1)),
  'balanceEntries.find': (tx, intruder, { entry }) => tx.balanceEntries.find(intruder, entry, entry.id),
  'balanceEntries.list': (tx, intruder, { entry }) => tx.balanceEntries.list(intruder, entry, { limit: 20 }),
  'balanceEntries.listByRefs': (tx, intruder, { entry }) => tx.balanceEntries.listByRefs(intruder, [entry]),
  'balanceEntries.listOfScan': (tx, intruder, { scan }) => tx.balanceEntries.listOfScan(intruder, scan),
  'balanceEntries.listReversals': (tx, intruder, { entry }) =>
    tx.balanceEntries.listReversals(intruder, [entry.reversesEntryId!]),
  'zones.count': (tx, intruder, { project }) => tx.zones.count(intruder, project),
  'zones.find': (tx, intruder, { zone }) => tx.zones.find(intruder, zone.id),
  'zones.findForUpdate': (tx, intruder, { zone }) => tx.zones.findForUpdate(intruder, zone.id),
  'zones.list': (tx, intruder) => tx.zones.list(intruder, newest),
  'zones.listOfProject': (tx, intruder, { project }) => tx.zones.listOfProject(intruder, project),
  'zones.listByIds': (tx, intruder, { zone }) => tx.zones.listByIds(intruder, [zone.id]),
  'zones.lock': (tx, intruder, { zone }) => tx.zones.lock(intruder, [zone.id], ['deny']),
  'zones.update': (tx, intruder, { zone }) => tx.zones.update(intruder, zone.id, { name: 'x' }, later(1)),
  'zones.delete': (tx, intruder, { zone }) => tx.zones.delete(intruder, zone.id, later(1)),
  'zones.endProject': (tx, intruder, { project }) => tx.zones.endProject(intruder, project, later(1)),
  'zones.add': (tx, intruder, { zone }) => tx.zones.add(intruder, zone, 9),
  'zones.setAlerted': (tx, intruder, { zone }) => tx.zones.setAlerted(intruder, zone.id, 100),
  'zones.hasAdjustment': (tx, intruder, { zone }) => tx.zones.hasAdjustment(intruder, zone.id, 'theirs'),
  'zones.adjust': (tx, intruder, { zone }) => tx.zones.adjust(intruder, zone, adjusted, later(1)),
  'zones.reset': (tx, intruder, { zone }) => tx.zones.reset(intruder, zone, { reason: 'x' }, later(1)),
  'movements.listAround': async (tx, intruder, { zone, pass }) =>
    (await tx.movements.listAround(intruder, [{ zoneId: zone.id, passId: pass, at: later(1) }]))[0]!.previous,
  'movements.listCurrent': (tx, intruder, { pass }) => tx.movements.listCurrent(intruder, [pass]),
  'movements.isCounted': (tx, intruder, { scan }) => tx.movements.isCounted(intruder, scan),
  'movements.remove': (tx, intruder, { scan }) => tx.movements.remove(intruder, scan),
  'occupancies.find': async (tx, intruder, { zone }) => {
    const range = { from: start, to: later(60), step: 60_000 }
    const { inside, changes } = await tx.occupancies.find(intruder, { zoneId: zone.id, ...range })
    return inside || changes
  },
  'snapshotEntries.list': (tx, intruder) =>
    tx.snapshotEntries.list(intruder, { projectId: null, madeUntil: later(1), limit: 10 }),
  'snapshots.find': (tx, intruder, { snapshot }) => tx.snapshots.find(intruder, snapshot.id),
  'snapshots.findRenamedTemplate': (tx, intruder, { snapshot }) => tx.snapshots.findRenamedTemplate(intruder, snapshot),
  'snapshots.mayRepeat': async (tx, intruder, { snapshot }) => !(await tx.snapshots.mayRepeat(intruder, snapshot)),
  'snapshots.listChanged': (tx, intruder, { snapshot }) => {
    const until = { ...snapshot, changedTo: 1e15, scannedTo: 1e15, madeAt: later(1) }
    return tx.snapshots.listChanged(intruder, { since: snapshot, until, limit: 10 })
  },
  'snapshotEntries.listChanges': async (tx, intruder, { snapshot }) => {
    const until = { ...snapshot, changedTo: 1e15, scannedTo: 1e15, madeAt: later(1) }
    return (await tx.snapshotEntries.listChanges(intruder, { since: snapshot, until, limit: 10 })).rows
  },
  'googleObjects.list': (tx, intruder, { pass }) => tx.googleObjects.list(intruder, [pass]),
  'googleObjects.setSent': (tx, intruder, { pass }) =>
    tx.googleObjects.setSent(intruder, pass, { ...sentObject(pass), version: 9 }, later(1)),
  'googleClasses.list': (tx, intruder, { googleClass }) => tx.googleClasses.list(intruder, [googleClass]),
  'googleClasses.findForUpdate': (tx, intruder, { googleClass }) =>
    tx.googleClasses.findForUpdate(intruder, googleClass),
  'googleClasses.setValues': (tx, intruder, { googleClass }) =>
    tx.googleClasses.setValues(intruder, googleClass, { stolen: 'x' }),
  'googleClasses.claim': (tx, intruder, { version }) =>
    tx.googleClasses.claim(intruder, [{ ...claim, templateVersionId: version }], later(1)),
  'googleClasses.setSent': (tx, intruder, { googleClass }) => tx.googleClasses.setSent(intruder, googleClass, 9),
  'googleClasses.deleteUnused': (tx, intruder, { googleClass }) =>
    tx.googleClasses.deleteUnused(intruder, [googleClass]),
  'googleClasses.listNames': (tx, intruder, { googleClass }) => tx.googleClasses.listNames(intruder, googleClass),
  'googleObjects.listFormer': (tx, intruder, { pass }) => tx.googleObjects.listFormer(intruder, pass),
  'groups.findLinkState': async (tx, intruder, { group }) =>
    (await tx.groups.findLinkState(intruder, group))?.generation,
  'groups.listAtDoor': async (tx, intruder, { group }) =>
    (await tx.groups.listAtDoor(intruder, [{ groupId: group, scanContextKey: null }])).flat(),
  'groups.listGenerations': (tx, intruder, { group }) => tx.groups.listGenerations(intruder, [group]),
  'groups.listInstallable': (tx, intruder, { group }) =>
    tx.groups.listInstallable(intruder, group, { limit: 9 }, start),
  'groups.raiseLinkGeneration': (tx, intruder, { group }) => tx.groups.raiseLinkGeneration(intruder, group),
  'googleObjects.listLinkable': (tx, intruder) => tx.googleObjects.listLinkable(intruder, ['theirs'], null),
  'googleObjects.listTransferred': (tx, intruder, { failed }) => tx.googleObjects.listTransferred(intruder, failed),
  'googleObjects.transfer': (tx, intruder, { pass, version }) =>
    tx.googleObjects.transfer(intruder, pass, { kind: 'generic', templateVersionId: version }),
  'googleObjects.setRetired': (tx, intruder, { failed }) =>
    tx.googleObjects.setRetired(intruder, failed, `${failed}-offer`, later(1)),
  'googleObjects.setError': (tx, intruder, { pass }) => tx.googleObjects.setError(intruder, pass, 'x'),
  'googleObjects.setEqual': (tx, intruder, { pass }) =>
    tx.googleObjects.setEqual(intruder, pass, { version: 9, digest: 'same' }),
  'googleObjects.markSending': (tx, intruder, { pass }) => tx.googleObjects.markSending(intruder, pass, 'mark'),
  'notifications.find': (tx, intruder, { pass, notification }) => tx.notifications.find(intruder, pass, notification),
  'notifications.findByKey': (tx, intruder) => tx.notifications.findByKey(intruder, 'their key'),
  'notifications.findBody': (tx, intruder, { notification }) => tx.notifications.findBody(intruder, notification),
  'notifications.list': (tx, intruder, { pass }) => tx.notifications.list(intruder, pass, { limit: 20 }),
  'notifications.deleteScheduled': (tx, intruder, { pass, notification }) =>
    tx.notifications.deleteScheduled(intruder, pass, notification, later(1)),
  'notifications.lock': (tx, intruder, { notification }) => tx.notifications.lock(intruder, [notification]),
  'notifications.listByIds': (tx, intruder, { notification }) => tx.notifications.listByIds(intruder, [notification]),
  'notifications.listPlaces': (tx, intruder, { pass }) => tx.notifications.listPlaces(intruder, [pass], later(1)),
  'notifications.update': (tx, intruder, { notification }) =>
    tx.notifications.update(intruder, new Map([[notification, { google_status: 'SENT' }]]), later(1)),
  'broadcasts.find': (tx, intruder, { project, broadcast }) => tx.broadcasts.find(intruder, project, broadcast),
  'broadcasts.findByKey': (tx, intruder) => tx.broadcasts.findByKey(intruder, 'their key'),
  'broadcasts.findForUpdate': (tx, intruder, { broadcast }) => tx.broadcasts.findForUpdate(intruder, broadcast),
  'broadcasts.list': (tx, intruder, { project }) => tx.broadcasts.list(intruder, project, { limit: 20 }),
  'broadcasts.deleteScheduled': (tx, intruder, { project, broadcast }) =>
    tx.broadcasts.deleteScheduled(intruder, project, broadcast, later(1)),
  'broadcasts.deleteAllScheduled': (tx, intruder, { project }) =>
    tx.broadcasts.deleteAllScheduled(intruder, project, later(1)),
  'chainHeads.findKeys': (tx, intruder) => tx.chainHeads.findKeys(intruder),
  'chainHeads.resealKey': (tx, intruder) => tx.chainHeads.resealKey(intruder, 'another'),
  'broadcasts.setStarted': (tx, intruder, { broadcast }) => tx.broadcasts.setStarted(intruder, broadcast, later(1)),
  'broadcasts.findChunk': async (tx, intruder, ids) =>
    (await tx.broadcasts.findChunk(intruder, theirBroadcast(ids), 9)).upTo ?? undefined,
  'broadcasts.fanOut': (tx, intruder, ids) =>
    tx.broadcasts.fanOut(intruder, theirBroadcast(ids), { after: null, upTo: null }, later(1)),
  'broadcasts.setByObject': (tx, intruder, { broadcast }) => tx.broadcasts.setByObject(intruder, broadcast),
  'broadcasts.sharesClasses': (tx, intruder, { project }) => tx.broadcasts.sharesClasses(intruder, project),
  'broadcasts.forecastClasses': async (tx, intruder, { project }) => {
    const { messages, others } = await tx.broadcasts.forecastClasses(intruder, project, later(2))
    return messages.length + others
  },
  'broadcastClasses.findOutcome': (tx, intruder, ids) => tx.broadcastClasses.findOutcome(intruder, theirClass(ids)),
  'broadcastClasses.hasMessages': (tx, intruder) => tx.broadcastClasses.hasMessages(intruder, 'their-class'),
  'broadcastClasses.listErrors': (tx, intruder, ids) =>
    tx.broadcastClasses.listErrors(intruder, theirClass(ids).broadcastId, 10),
  'broadcastClasses.nack': (tx, intruder, ids) => tx.broadcastClasses.nack(intruder, theirClass(ids)),
  'broadcastClasses.settle': (tx, intruder, ids) =>
    tx.broadcastClasses.settle(intruder, theirClass(ids), { status: 'FAILED', error: 'theirs' }),
  'broadcasts.countByStatus': (tx, intruder, { broadcast }) => tx.broadcasts.countByStatus(intruder, broadcast),
  'broadcasts.forecast': (tx, intruder, { project }) =>
    tx.broadcasts.forecast(intruder, project, { filter: { search: 'a' }, at: later(2) }),
  'eventLog.findPlace': (tx, intruder, { event }) => tx.eventLog.findPlace(intruder, event),
  'eventLog.findEnd': async (tx, intruder) => (await tx.eventLog.findEnd(intruder)).position,
  'eventLog.findFirstId': (tx, intruder) => tx.eventLog.findFirstId(intruder, later(-60)),
  'eventLog.listAfter': (tx, intruder) => tx.eventLog.listAfter(intruder, PLACE_BEFORE_ALL, 10),
  'webhooks.find': (tx, intruder, { webhook }) => tx.webhooks.find(intruder, webhook),
  'webhooks.findIdByUrl': (tx, intruder) => tx.webhooks.findIdByUrl(intruder, 'https://x.example'),
  'webhooks.findToSend': (tx, intruder, { webhook }) => tx.webhooks.findToSend(intruder, webhook),
  'webhooks.findForUpdate': (tx, intruder, { webhook }) => tx.webhooks.findForUpdate(intruder, webhook),
  'webhooks.list': (tx, intruder) => tx.webhooks.list(intruder, newest),
  'webhooks.update': (tx, intruder, { webhook }) => tx.webhooks.update(intruder, webhook, { url: 'x' }, later(1)),
  'webhooks.delete': (tx, intruder, { webhook }) => tx.webhooks.delete(intruder, webhook),
  'webhooks.setEnabled': (tx, intruder, { webhook }) => tx.webhooks.setEnabled(intruder, webhook, later(1)),
  'webhooks.setDisabled': (tx, intruder, { webhook }) => tx.webhooks.setDisabled(intruder, webhook, 'x', later(1)),
  'webhooks.setFailingSince': (tx, intruder, { webhook }) => tx.webhooks.setFailingSince(intruder, webhook, start),
  'webhooks.setSecrets': (tx, intruder, { webhook }) =>
    tx.webhooks.setSecrets(intruder, webhook, { secret: 'x', retiredSecrets: [] }, later(1)),
  'events.expect': (tx, intruder) => tx.events.expect(intruder),
  'events.fanOut': (tx, intruder) => tx.events.fanOut(intruder, later(1), 9),
  'deliveries.find': (tx, intruder, { delivery }) => tx.deliveries.find(intruder, delivery.id),
  'deliveries.findPayload': (tx, intruder, { delivery }) => tx.deliveries.findPayload(intruder, delivery.id),
  'deliveries.listAttempts': (tx, intruder, { delivery }) => tx.deliveries.listAttempts(intruder, delivery.id),
  'deliveries.list': (tx, intruder, { webhook }) => tx.deliveries.list(intruder, { ...newest, webhookId: [webhook] }),
  'deliveries.redeliver': (tx, intruder, { webhook, delivery }) =>
    tx.deliveries.redeliver(intruder, delivery.id, { id: webhook, generation: 1 }, later(1)),
  'deliveries.listDue': (tx, intruder, { webhook }) =>
    tx.deliveries.listDue(intruder, { id: webhook, generation: 1 }, { at: later(9), limit: 9, underWay: [] }),
  'deliveries.findNextDue': (tx, intruder, { webhook }) =>
    tx.deliveries.findNextDue(intruder, { id: webhook, generation: 1 }),
  'deliveries.record': (tx, intruder, { delivery }) => tx.deliveries.record(intruder, [attemptOf(delivery)], later(1)),
  'erasure.count': (tx, intruder, { pass }) => tx.erasure.count(intruder, pass),
  'erasure.lockNotifications': (tx, intruder, { pass }) => tx.erasure.lockNotifications(intruder, pass),
  'erasure.forgetGates': (tx, intruder) => tx.erasure.forgetGates(intruder),
  'erasure.erase': (tx, intruder, { pass }) => tx.erasure.erase(intruder, pass, digest, later(1)),
  'deliveries.hasStale': (tx, intruder, { webhook }) => tx.deliveries.hasStale(intruder, webhook, 9),
  'deliveries.end': (tx, intruder, { webhook }) =>
    tx.deliveries.end(intruder, webhook, { before: 9, at: later(1), limit: 9 }),
}

const newest = { limit: 20, sortBy: 'createdAt', sortDir: 'desc' } as const

function attemptOf(delivery: StoredDelivery) {
  const outcome = { responseCode: 200, error: null }
  const due = { id: delivery.id, progress: delivery }
  return { delivery: due, outcome, startedAt: start, at: later(1), durationMs: 1, jitter: 0 }
}

const message = {
  body: 'Doors open at 7',
  options: {},
  platforms: ['apple', 'google'] as Platform[],
  sendAt: later(3600),
  idempotencyKey: 'their key',
}

const theirBroadcast = ({ project, broadcast }: Ids) => ({
  filter: null,
  ...message,
  id: broadcast,
  projectId: project,
  googleVia: 'object' as const,
  startedAt: later(1),
  position: null,
  fannedOut: 0,
  dispatchedAt: null,
  createdAt: start,
  updatedAt: start,
})

const theirUpgrade = ({ template, version, upgrade }: Pick<Ids, 'template' | 'version' | 'upgrade'>) => ({
  id: upgrade,
  templateId: template,
  templateVersionId: version,
  version: 1,
  filter: null,
  passLimit: null,
  dryRun: false,
  status: 'PENDING' as const,
  projectIds: null,
  tokenId: upgrade,
  tokenName: 'theirs',
  tokenSubject: null,
  position: null,
  matched: null,
  upgraded: 0,
  unchanged: 0,
  failed: 0,
  createdAt: later(1),
  updatedAt: start,
})

const theirClass = ({ broadcast }: Pick<Ids, 'broadcast'>) => ({
  broadcastId: broadcast,
  identityId: null,
  classSuffix: 'their-class',
})

const replayOf = (projectId: string) => ({ projectId, from: new Date(0), to: later(1e6) })

const change = {
  label: 'x',
  variables: { seat: 'Z9' },
  redemption: null,
  hasBalances: false,
  expiresAt: null,
  status: 'QUEUED' as const,
  identifierDigest: Buffer.from('x'),
}

const digest = identifierDigest('theirs')

const plan = planRedemption({
  status: 'ISSUED' as const,
  expiresAt: null,
  realTime: start,
  scanContextKey: 'context 7',
  policy: { perPeriod: { unit: 'day', count: 1, timezone: 'UTC' } },
})

const adjusted = { delta: 1, reason: 'Counted by hand', externalRef: 'theirs' }

const claim = { keyDigest: 'theirs', values: { gate: 'A' } }

interface Ids {
  scan: string
  snapshot: StoredSnapshot
  /** The token of a door. */
  token: string
  session: string
  invitation: string
  project: string
  template: string
  version: string
  upgrade: string
  submission: string
  pass: string
  /** The serial number of the former holder's copy of the failed pass. */
  former: string
  googleClass: string
  identity: string
  group: string
  failed: string
  notification: string
  broadcast: string
  webhook: string
  delivery: StoredDelivery
  event: string
  zone: StoredZone
  entry: StoredEntry
}

test('every method with a workspace, except inserts, is tested below', () => {
  expect(methodsWithWorkspace().sort()).toEqual(Object.keys(calls).sort())
})

describe.each(dialects)('on %s', (dialect) => {
  test('the IDs of another workspace find nothing and change nothing', async () => {
    const { store, database } = await openTestStore(dialect)
    const ids = await insertEverything(store, await insertWorkspace(store, 'theirs'))
    const intruder = await insertWorkspace(store, 'ours')
    const before = await dump(database)
    for (const [name, call] of Object.entries(calls)) {
      const isRead = /\.(find|list|count|forecast)/.test(name)
      const [found, hasWritten] = isRead
        ? [await call(store, intruder, ids), false]
        : await watchWrites(database, (tx) => call(tx, intruder, ids))
      expect(isNothing(found), `${name} found ${JSON.stringify(found)}`).toBe(true)
      // Some calls write rows of the intruder. Comparing all rows takes much longer than most calls.
      if (hasWritten) expect(await dump(database), name).toEqual(before)
    }
    expect(await dump(database)).toEqual(before)
  })

  test('two workspaces can use the same externalPassId', async () => {
    const { store } = await openTestStore(dialect)
    const ids = []
    for (const name of ['a', 'b']) {
      const workspaceId = await insertWorkspace(store, name)
      const pass = newPass(await insertTemplate(store, workspaceId), { externalPassId: 'same' })
      ids.push(...(await store.transaction((tx) => tx.passes.insert(workspaceId, [pass], start))))
    }
    expect(ids).toHaveLength(2)
  })
})

const ofTheirs = {
  platform: 'apple' as const,
  name: 'theirs',
  isSandbox: false,
  passTypeIdentifier: 'pass.example.theirs',
  teamIdentifier: 'THEIRS0001',
  issuerId: null,
  expiresAt: null,
}

const imported = {
  externalPassId: 'imported',
  status: 'ISSUED' as const,
  importedSerialNumber: 'theirs-1',
  googleObjectId: 'theirs-1',
  scanPayload: 'theirs-1',
  devices: [{ deviceId: 'theirs', pushToken: 'theirs' }],
  importDigest: 'aa',
}

const theirPage = {
  slug: 'theirs',
  settings: {
    title: 'x',
    intro: '',
    fields: [],
    labelFrom: ['x'],
    consent: { text: 'x', version: '1', required: false },
    source: true,
  },
  open: true,
  closesAt: null,
  passLimit: null,
}

async function insertEverything(store: Store, workspaceId: string): Promise<Ids> {
  const project = await store.transaction((tx) =>
    tx.projects.insert(workspaceId, { name: 'Tour', description: '', color: 'gray' }, start),
  )
  const version = await insertTemplate(store, workspaceId, project.id)
  const [notification, broadcast, upgrade] = [newId(start), newId(start), newId(start)]
  const groupId = newId(start)
  const group = { id: groupId, key: 'theirs' }
  const passes = [newPass(version, { externalPassId: 'theirs', identifierDigest: digest, group }), newPass(version)]
  const [pass, failed] = (await insertPasses(store, workspaceId, passes)) as [string, string]
  const { token, session, invitation, delivery, googleClass, identity } = await store.transaction(async (tx) => {
    await tx.limits.set(workspaceId, { webhooks: 7 })
    await tx.templateVersions.insert(workspaceId, version.templateId, 2, definition, start)
    await tx.passes.setFailed(workspaceId, failed, { code: 'PASS_ISSUING_FAILED', message: 'x' }, start)
    await tx.registrations.insert(workspaceId, { passId: pass, deviceId: 'device', pushToken: 'token' }, start)
    await tx.googleObjects.setSent(workspaceId, pass, { ...sentObject(pass, 'offer'), version: 1 }, start)
    await tx.googleObjects.setSent(workspaceId, pass, { ...sentObject(pass), version: 1, digest: 'same' }, start)
    await tx.heldPasses.settle(workspaceId, [pass])
    await tx.moves.insert(workspaceId, { url: 'https://there.example/apple', passesASecond: 1 }, start)
    await tx.importedPasses.insert(workspaceId, [{ ...newPass(version), ...imported }], start)
    await tx.registrations.insert(workspaceId, { passId: failed, deviceId: 'device', pushToken: 'token' }, start)
    await tx.formerPasses.insert((await tx.passes.find(workspaceId, failed))!, start)
    await tx.googleObjects.insertTransferred(workspaceId, failed, sentObject(failed, 'offer'))
    await tx.groups.raiseLinkGeneration(workspaceId, groupId)
    const [ofClass] = await tx.googleClasses.claim(workspaceId, [{ ...claim, templateVersionId: version.id }], start)
    const rejection = {
      platform: 'google' as const,
      code: 'GOOGLE_API_FAILED' as const,
      message: 'no',
      at: start,
    }
    await tx.rejections.insert(workspaceId, 'pass', pass, rejection)
    const batch = {
      action: 'pass.create',
      actor: { tokenId: null, name: 'x' },
      targetId: null,
      targetCount: 2,
    } as const
    await tx.auditLog.insert(workspaceId, { ...batch, correlationId: null }, start)
    await tx.notifications.insert(workspaceId, { ...message, id: notification, passId: pass }, start)
    await tx.broadcasts.insert(workspaceId, { ...message, id: broadcast, projectId: project.id }, start)
    const upgradeOf = theirUpgrade({ template: version.templateId, version: version.id, upgrade })
    const pending = await tx.upgrades.insert(workspaceId, upgradeOf, start)
    const failure = { passId: pass, code: 'VALIDATION_ERROR' as const, message: 'theirs' }
    const progress = { position: null, upgraded: 0, unchanged: 0, failures: [failure], isLast: false }
    await tx.upgrades.advance(workspaceId, pending, progress, start)
    await tx.broadcastClasses.insertTurn(workspaceId, theirClass({ broadcast }), { at: start, until: later(60) })
    const image = { id: imageId, contentType: 'image/png', width: 1, height: 1, bytes: 1 } as const
    await tx.images.insert(workspaceId, { ...image, data: Buffer.from('x') }, start)
    await tx.images.insertFiles(workspaceId, imageId, [{ size: 'x', data: Buffer.from('x') }])
    await tx.images.insertUses(workspaceId, [{ passId: pass, imageId }])
    const fields = { name: 't', role: 'owner', scopes: [], digest: 'd', projectIds: null, expiresAt: null } as const
    const token = await tx.tokens.insert(workspaceId, { ...fields, scopes: [] }, start)
    const atGate = { projectId: project.id, gate: 'North' }
    await tx.doors.insert(workspaceId, { ...atGate, id: token.id }, start)
    await tx.members.insertOrUpdate(workspaceId, { email: EMAIL, role: 'owner', projectIds: null }, start)
    const named = { issuer: 'https://login.example', subject: '1', email: EMAIL, claimedRoles: [] }
    const { id: personId } = await tx.people.signIn(named, start)
    const signedIn = { digest: 'd', personId, providerSession: null, expiresAt: later(60) }
    const session = await tx.sessions.insert(workspaceId, signedIn, start)
    const invited = { ...atGate, codeDigest: 'd', uses: 7, expiresAt: later(60) }
    const invitation = await tx.doors.insertInvitation(workspaceId, invited, start)
    const endpoint = { url: 'https://x.example', events: ['pass.voided' as const], description: '', secret: 's' }
    const webhook = await tx.webhooks.insert(workspaceId, newId(start), endpoint, start)
    const voided = { id: pass, externalPassId: 'theirs', reason: null }
    await tx.events.insert(
      workspaceId,
      [{ type: 'pass.voided', subject: pass, data: voided, correlationId: null }],
      start,
    )
    const event = {
      type: 'webhook.test',
      subject: webhook.id,
      data: { webhookId: webhook.id },
      correlationId: null,
    } as const
    const delivery = await tx.events.insertFor(workspaceId, webhook, event, start)
    await tx.deliveries.record(
      workspaceId,
      [{ ...attemptOf(delivery), outcome: { responseCode: 500, error: 'Responded with 500.' } }],
      start,
    )
    const identity = await tx.identities.insert(ofTheirs, () => 'sealed', start)
    await tx.identities.insertGrant(workspaceId, identity!.id)
    await tx.identities.setDefault({ workspaceId, projectId: project.id }, 'apple', identity!.id)
    // Return the current state, so that a test can compare it after the calls.
    return {
      token,
      session: session.id,
      invitation,
      googleClass: ofClass!.id,
      identity: identity!.id,
      delivery: (await tx.deliveries.find(workspaceId, delivery.id))!,
    }
  })
  const template = version.templateId
  const scan = acceptedScan(pass)
  await store.transaction(async (tx) => {
    await tx.scans.insert(workspaceId, [scan])
    await tx.chainHeads.insertKeys(workspaceId, { publicKey: 'public', sealedKey: 'sealed' })
    const use = { scanId: scan.id, passId: pass, projectId: project.id, templateId: template, scannedAt: start }
    await tx.acceptedScans.insert(workspaceId, [
      { ...use, scanContextKey: null, debitedWindow: null, validityDate: null },
    ])
  })
  const submission = newId(start)
  await store.transaction(async (tx) => {
    await tx.joinPages.set(workspaceId, template, theirPage, start)
    await tx.joinPages.take(workspaceId, template)
    const join = { slug: 'theirs', source: null, consentVersion: null, consentedAt: null }
    const content = { recovers: false, label: 'x', variables: {}, join, identity: 'email', language: 'en' }
    const waiting = {
      id: submission,
      templateId: template,
      externalPassId: 'x',
      content,
      holdsPlace: true,
      createdAt: start,
    }
    await tx.joinSubmissions.insert(workspaceId, waiting)
    const address = { templateId: template, digest: 'theirs', passId: pass, variable: 'email', language: 'en' }
    await tx.joinIdentities.insert(workspaceId, address)
  })
  const zone = await store.transaction(async (tx) => {
    const made = await tx.zones.insert(workspaceId, project.id, { name: 'x', capacity: 9, whenFull: 'deny' }, start)
    const moved = { zoneId: made.id, passId: pass, at: start }
    const [around] = await tx.movements.listAround(workspaceId, [moved])
    await tx.movements.insert(workspaceId, [
      { ...moved, scanId: scan.id, direction: 'in', around: around!, useScanId: scan.id },
    ])
    await tx.zones.adjust(workspaceId, made, adjusted, start)
    return (await tx.zones.find(workspaceId, made.id))!
  })
  const entry: StoredEntry = {
    id: newId(start),
    passId: pass,
    name: 'points',
    delta: 5,
    value: 5,
    externalRef: 'theirs',
    reason: null,
    scanId: scan.id,
    reversesEntryId: newId(start),
    createdAt: start,
  }
  await store.transaction((tx) => tx.balanceEntries.insert(workspaceId, [entry]))
  const list = { id: newId(start), projectId: null, madeAt: start }
  const snapshot = await store.transaction((tx) => tx.snapshots.insert(workspaceId, list))
  const logs = [{ passId: pass, device: null, message: 'odd' }]
  await store.transaction((tx) => tx.deviceLogs.insert(workspaceId, logs, start))
  await store.transaction((tx) => tx.templates.update(workspaceId, template, { name: 'Other' }, start))
  const rejection = { platform: 'google', code: 'GOOGLE_API_FAILED', message: 'no', at: start } as const
  await store.transaction((tx) => tx.rejections.insert(workspaceId, 'pass', pass, rejection))
  const ids = {
    project: project.id,
    template,
    version: version.id,
    pass,
    googleClass,
    identity,
    failed,
    former: failed,
    group: groupId,
    scan: scan.id,
    snapshot,
    notification,
    broadcast,
    upgrade,
    submission,
  }
  const event = (await store.eventLog.findFirstId(workspaceId, later(-60)))!
  return { ...ids, token: token.id, session, invitation, webhook: delivery.webhookId, delivery, event, zone, entry }
}

/** Does work in a transaction, and returns its result and whether it changed or locked a row. */
async function watchWrites<T>(database: Database, work: (tx: Repositories) => Promise<T>): Promise<[T, boolean]> {
  return database.writer.transaction(async (raw) => {
    const changes = async () => {
      const sql = isPostgres(raw) ? 'select pg_current_xact_id_if_assigned() as n' : 'select total_changes() as n'
      return rowsOf<{ n: unknown }>(raw, await raw.raw(sql))[0]!.n
    }
    const before = await changes()
    const result = await createStore({ ...database, reader: raw, writer: raw, entry: raw }).transaction(work)
    return [result, (await changes()) !== before]
  })
}

async function dump({ reader }: Database): Promise<string[][]> {
  const tables = [
    'tokens',
    'members',
    'sessions',
    'doors',
    'door_invitations',
    'projects',
    'identities',
    'workspace_identities',
    'templates',
    'template_versions',
    'template_upgrades',
    'template_upgrade_failures',
    'join_pages',
    'join_submissions',
    'join_identities',
    'images',
    'jobs',
    'events',
    'passes',
    'pass_identifiers',
    'pass_variables',
    'pass_images',
    'pass_windows',
    'notifications',
    'broadcasts',
    'broadcast_classes',
    'webhooks',
    'pending_events',
    'webhook_deliveries',
    'webhook_attempts',
    'apple_registrations',
    'held_passes',
    'former_passes',
    'former_registrations',
    'group_links',
    'google_objects',
    'google_former_objects',
    'google_classes',
    'rejections',
    'scans',
    'accepted_scans',
    'balance_entries',
    'zones',
    'zone_movements',
    'zone_adjustments',
    'zone_resets',
    'chain_keys',
    'chain_pending',
  ]
  const rows: object[][] = await Promise.all(tables.map((table) => reader(table)))
  return rows.map((some) => some.map((row) => JSON.stringify(row)).sort())
}

/** Returns whether a value is undefined, null, false, zero, or contains only such values. */
function isNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === 0) return true
  if (value instanceof Set) return value.size === 0
  if (value instanceof Map) return [...value.values()].every(isNothing)
  if (Array.isArray(value)) return value.length === 0
  if (typeof value !== 'object') return false
  return 'rows' in value ? isNothing(value.rows) : Object.values(value).every(isNothing)
}

/** Public methods of the repositories, as `repository.method`. */
function methodsWithWorkspace(): string[] {
  const folder = join(import.meta.dirname, '../../src/storage')
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) =>
      readFileSync(join(folder, name), 'utf8')
        .split(/^(?:export )?class /m)
        .slice(1),
    )
    .flatMap((source) => {
      const repository = source.replace(/^\w/, (letter) => letter.toLowerCase()).match(/^\w+/)![0]
      return [...source.matchAll(/^ {2}(?:async )?(\w+)\(\s*workspaceId: string/gm)].map(
        ([, method]) => `${repository}.${method}`,
      )
    })
    .filter((name) => !/\.insert\w*$/.test(name))
}
