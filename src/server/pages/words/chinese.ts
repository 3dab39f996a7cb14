import type { PageWords } from '../page-words.ts'

/** Chinese: see PageWords. */
export const chinese: PageWords = {
  addTo: '添加到 {wallet}',
  share: '将此凭证添加到 {wallet}。',
  or: '{wallet}或 {other}',
  sandbox: {
    all: 'SANDBOX – 并非真实凭证：没有手机会接受它',
    one: 'SANDBOX – 在 {wallet}中并非真实凭证：无法用于任何 {phone}',
  },
  androidPhone: 'Android 手机',
  validUntil: '有效期至 {time}',
  addToCalendar: '添加到日历',
  more: '有关此凭证的更多信息',
  state: { ready: '可以添加', preparing: '准备中' },
  inApp: {
    title: '请在浏览器中打开：',
    text: '此应用可能无法添加凭证。请查看其菜单，或复制链接。',
    address: '此页面的链接',
    copy: '复制链接',
    copied: '链接已复制。',
  },
  phone: { code: '此页面网址的二维码', title: '在手机上继续', text: '用手机相机扫描此二维码。' },
  issuedBy: '由 {organization} 签发',
  reference: '参考编号：{reference}',
  problems: {
    revoked: {
      title: '此链接已撤回',
      what: '凭证的签发方已终止此链接，无法再用它添加凭证。已在钱包中的凭证不受影响。',
      advice: '如果你仍需要此凭证，请向发送者索取新链接。',
    },
    void: {
      title: '此凭证已取消',
      what: '签发方已取消此凭证，无法再添加或使用。',
      advice: '如果这出乎你的意料，请询问发送者。',
    },
    failed: {
      title: '无法生成此凭证',
      what: '准备凭证时出现问题，目前还没有可添加的内容。这不是你的操作造成的。',
      advice: '请告知发送链接的人。问题解决后，此链接即可使用。',
    },
    expired: {
      title: '此凭证已过期',
      what: '此凭证的有效期已过，无法再添加。',
      advice: '如果你认为它应当仍然有效，请询问发送者。',
    },
    suspended: {
      title: '此链接暂时关闭',
      what: '目前无法添加该签发方的凭证。已在钱包中的凭证不受影响。',
      advice: '请稍后再试此链接，或询问发送者。',
    },
    linkExpired: {
      title: '此链接已过期',
      what: '添加凭证的链接只在限定时间内有效，此链接的期限已过。',
      advice: '请向发送者索取新链接。',
    },
    malformed: {
      title: '此链接不完整',
      what: '网址的一部分缺失或被更改；较长的链接在消息中有时会被截断。',
      advice: '请从消息中重新打开链接，或复制完整链接。如果仍然无效，请索取新链接。',
    },
    platform: {
      title: '此钱包不可用',
      what: '无法再将凭证添加到这类钱包。',
      advice: '请询问发送链接的人如何以其他方式获取凭证。',
    },
    unknown: {
      title: '此链接无效',
      what: '它不指向任何凭证。可能是输入有误，或在传送过程中被更改。',
      advice: '请从消息中重新打开链接。如果仍然无效，请向发送者索取新链接。',
    },
    busy: {
      title: '同时访问过多',
      what: '从你的网络打开的链接超出了目前可处理的数量。',
      advice: '请等待几秒钟，然后重新加载此页面。',
    },
    fault: {
      title: '暂时无法显示凭证',
      what: '我们这边出现了问题。你的链接和凭证不受影响。',
      advice: '请在一分钟后重新加载此页面。',
    },
    refused: {
      title: '无法将此凭证添加到 {wallet}',
      what: '{wallet}不接受它目前的内容。这不是你的操作造成的，重试也无济于事。',
      advice: '请告知发送链接的人。问题解决后，此链接即可使用。',
    },
  },
}
