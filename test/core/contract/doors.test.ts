import { expect, test } from 'vitest'
import { Door, DoorClaim, DoorInvitation, doorHeaders, doors } from '../../../src/core/contract/scans/doors.ts'

const body = { projectId: '01985f0c-7a10-7000-8000-000000000001', gate: 'North', expiresAt: '2027-05-20T20:00:00Z' }

test('an invitation is for 1 to 1,000 phones, by default one', () => {
  const invite = doors.invite.body
  expect(invite.parse(body).uses).toBe(1)
  expect(invite.parse({ ...body, uses: 1000 }).uses).toBe(1000)
  for (const uses of [0, 1001, 1.5, -1, '20'])
    expect(invite.safeParse({ ...body, uses }).success, `${uses}`).toBe(false)
  for (const gate of ['', 'x'.repeat(101)]) expect(invite.safeParse({ ...body, gate }).success, gate).toBe(false)
})

test('only a claim needs no token, and its response contains the complete door', () => {
  const isPublic = Object.entries(doors).filter(([, route]) => 'isPublic' in route)
  expect(isPublic.map(([name]) => name)).toEqual(['claim'])
  expect(doors.claim.responses[201]).toBe(DoorClaim)
  expect(DoorClaim.shape.door).toBe(Door)
  expect(doors.invite.responses[201]).toBe(DoorInvitation)
  expect(Object.values(doorHeaders)).toEqual(['x-door-version', 'x-door-pending'])
})
