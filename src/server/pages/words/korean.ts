import type { PageWords } from '../page-words.ts'

/** Korean: see PageWords. */
export const korean: PageWords = {
  addTo: { apple: 'Apple 지갑에 추가', google: 'Google 월렛에 추가' },
  share: {
    apple: '이 패스를 Apple 지갑에 추가하세요.',
    google: '이 패스를 Google 월렛에 추가하세요.',
    both: '이 패스를 Apple 지갑 또는 Google 월렛에 추가하세요.',
  },
  sandbox: {
    all: 'SANDBOX – 실제 패스가 아닙니다',
    apple: 'SANDBOX – Apple 지갑에서는 실제 패스가 아닙니다',
    google: 'SANDBOX – Google 월렛에서는 실제 패스가 아닙니다',
  },
  validUntil: '유효 기한: {time}',
  addToCalendar: '캘린더에 추가',
  more: '이 패스에 대한 추가 정보',
  state: { ready: '추가 가능', preparing: '준비 중' },
  inApp: {
    title: '브라우저에서 여세요:',
    text: '이 앱에서는 패스를 추가하지 못할 수 있습니다. 앱의 메뉴를 확인하거나 링크를 복사하세요.',
    address: '이 페이지의 링크',
    copy: '링크 복사',
    copied: '링크를 복사했습니다.',
  },
  phone: { code: '이 페이지 주소의 QR 코드', title: '휴대전화에서 계속하기', text: '이 코드를 카메라로 스캔하세요.' },
  issuedBy: '발행: {organization}',
  reference: '참조 번호: {reference}',
  problems: {
    revoked: {
      title: '이 링크는 철회되었습니다',
      what: '패스를 발행한 곳에서 이 링크를 종료하여 더 이상 이 링크로 패스를 추가할 수 없습니다. 이미 지갑에 있는 패스에는 영향이 없습니다.',
      advice: '패스가 아직 필요하면 보낸 사람에게 새 링크를 요청하세요.',
    },
    void: {
      title: '이 패스는 취소되었습니다',
      what: '패스를 발행한 곳에서 취소하여 더 이상 추가하거나 사용할 수 없습니다.',
      advice: '예상하지 못한 일이라면 보낸 사람에게 문의하세요.',
    },
    failed: {
      title: '이 패스를 만들 수 없었습니다',
      what: '패스를 준비하는 중에 문제가 생겨 아직 추가할 것이 없습니다. 사용자의 잘못이 아닙니다.',
      advice: '링크를 보낸 사람에게 알려 주세요. 문제가 해결되면 같은 링크를 다시 사용할 수 있습니다.',
    },
    expired: {
      title: '이 패스는 만료되었습니다',
      what: '이 패스의 유효 기간이 끝나 더 이상 추가할 수 없습니다.',
      advice: '아직 유효해야 한다고 생각되면 보낸 사람에게 문의하세요.',
    },
    suspended: {
      title: '이 링크는 현재 닫혀 있습니다',
      what: '지금은 이 발행처의 패스를 추가할 수 없습니다. 이미 지갑에 있는 패스에는 영향이 없습니다.',
      advice: '나중에 같은 링크를 다시 열어 보거나 보낸 사람에게 문의하세요.',
    },
    linkExpired: {
      title: '이 링크는 만료되었습니다',
      what: '패스를 추가하는 링크는 정해진 기간 동안만 작동하며, 이 링크의 기간은 끝났습니다.',
      advice: '보낸 사람에게 새 링크를 요청하세요.',
    },
    malformed: {
      title: '이 링크는 완전하지 않습니다',
      what: '주소의 일부가 빠졌거나 바뀌었습니다. 긴 링크는 메시지에서 잘리기도 합니다.',
      advice: '메시지에서 링크를 다시 열거나 전체를 복사하세요. 그래도 안 되면 새 링크를 요청하세요.',
    },
    platform: {
      title: '이 지갑은 사용할 수 없습니다',
      what: '더 이상 이 종류의 지갑에 패스를 추가할 수 없습니다.',
      advice: '패스를 받을 다른 방법을 링크를 보낸 사람에게 문의하세요.',
    },
    unknown: {
      title: '이 링크는 유효하지 않습니다',
      what: '어떤 패스로도 연결되지 않습니다. 잘못 입력되었거나 전달 중에 바뀌었을 수 있습니다.',
      advice: '메시지에서 링크를 다시 여세요. 그래도 안 되면 보낸 사람에게 새 링크를 요청하세요.',
    },
    busy: {
      title: '한꺼번에 너무 많은 방문',
      what: '사용 중인 네트워크에서 지금 처리할 수 있는 것보다 많은 링크가 열렸습니다.',
      advice: '몇 초 기다린 뒤 이 페이지를 새로 고침하세요.',
    },
    fault: {
      title: '지금은 패스를 표시할 수 없습니다',
      what: '저희 쪽에 문제가 있습니다. 링크와 패스에는 영향이 없습니다.',
      advice: '1분 뒤에 이 페이지를 새로 고침하세요.',
    },
    refused: {
      title: '이 패스는 Google 월렛에 추가할 수 없습니다',
      what: '지금 상태로는 Google 월렛이 받아들이지 않습니다. 사용자의 잘못이 아니며, 다시 시도해도 소용없습니다.',
      advice: '링크를 보낸 사람에게 알려 주세요. 문제가 해결되면 같은 링크를 다시 사용할 수 있습니다.',
    },
  },
}
